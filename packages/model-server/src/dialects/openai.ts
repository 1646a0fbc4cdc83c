import { STATUS, type Refusal, type Refused } from './dialect.ts';

const ERRORS: { readonly [F in Refused]: { type: string; code: string | null; message: string } } = {
  rate_limit: { type: 'requests', code: 'rate_limit_exceeded', message: 'Rate limit reached.' },
  overload: { type: 'server_error', code: null, message: 'The server is currently overloaded.' },
  server: { type: 'server_error', code: null, message: 'The server had an error.' },
  auth: { type: 'invalid_request_error', code: 'invalid_api_key', message: 'Incorrect API key provided.' },
  unknown_model: {
    type: 'invalid_request_error',
    code: 'model_not_found',
    message: 'The model does not exist: ',
  },
  context_too_long: {
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
    message: 'Your input exceeds the context window of this model.',
  },
};

/** The same for both of OpenAI's dialects. It has no status of its own for an overload. */
export function refusal(failure: Refused, model: string): Refusal {
  const error = { ...ERRORS[failure], param: null };
  if (failure === 'unknown_model') error.message += model;
  return { status: failure === 'overload' ? 503 : STATUS[failure], body: { error } };
}

/** When something was made, in seconds. Nobody looks at it, but clients want a number. */
export const created = (): number => Math.floor(Date.now() / 1000);
