import { executorContract } from './contract.ts';
import { acpBackend } from './process-backends.ts';

executorContract(acpBackend(), 'an agent that speaks the protocol');
executorContract(acpBackend('--steers'), 'an agent that speaks the protocol and takes mail in its turn');
