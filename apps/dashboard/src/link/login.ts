import { PAGE_ROUTES } from '@reveille/protocol';

/** Kept by the browser for this site, which is this address with this port: no other server of this machine is sent it. */
const KEPT = 'reveille.page';

export class Refused extends Error {}

/** The credential of this page: from the ticket in the address, which counts once, or the one it has. Null: none. */
export async function takeCredential(): Promise<string | null> {
  const ticket = /^#ticket=(rvt_[\w-]+)$/.exec(location.hash)?.[1];
  if (ticket === undefined) return localStorage.getItem(KEPT);
  // Before anything else: it must not stay in the address or the history.
  history.replaceState(null, '', location.pathname);
  const { credential } = await post(PAGE_ROUTES.login, { ticket });
  localStorage.setItem(KEPT, String(credential));
  return String(credential);
}

/**
 * Whoever answers at this address must show that it knows the credential before it is sent there: when the daemon is
 * gone, another program may have its port.
 */
export async function prove(credential: string): Promise<void> {
  const page = /^rvb_([0-9a-f]{32})\./.exec(credential)?.[1];
  if (page === undefined) throw new Refused('This browser is not let in.');
  const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
  const { proof } = await post(PAGE_ROUTES.proof, { page, nonce });
  const bytes = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes.encode(credential), algorithm, false, ['sign']);
  const expected = hex(new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes.encode(nonce))));
  if (proof !== expected)
    throw new Refused('What answers at this address is not your daemon. Nothing was sent to it.');
}

const hex = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

async function post(path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { value?: Record<string, unknown>; error?: { message: string } };
  if (answer.value) return answer.value;
  throw new Refused(answer.error?.message ?? 'The daemon refused this page.');
}
