import { contract } from './contract.ts';

contract('clone');
contract('linked');
