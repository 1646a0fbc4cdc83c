import { builtinBackend, scriptedBackend } from './backends.ts';
import { executorContract } from './contract.ts';

executorContract(scriptedBackend);
executorContract(builtinBackend('anthropic'), 'builtin with Anthropic’s dialect');
executorContract(builtinBackend('openai-compatible'), 'builtin with OpenAI’s dialect');
