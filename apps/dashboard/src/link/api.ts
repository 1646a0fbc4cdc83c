import { signal } from '@preact/signals';
import { createClient, type Client } from '@reveille/protocol';
import { Refused, prove } from './login.ts';

export type LinkState =
  | { readonly state: 'connecting' | 'live' }
  | { readonly state: 'offline'; readonly since: number }
  | { readonly state: 'refused'; readonly why: string };

export const link = signal<LinkState>({ state: 'connecting' });

let client: Client | null = null;

/** The daemon, as this page's person. */
export function api(): Client {
  if (!client) throw new Error('nobody is let in yet');
  return client;
}

/**
 * Every call goes through one door: the first one, and the first after a connection broke, asks who answers. What it
 * meets is what the page shows of the connection.
 */
export function openApi(credential: string): void {
  let proven = false;
  const guarded: typeof fetch = async (input, init) => {
    try {
      if (!proven) await prove(credential);
      proven = true;
      const response = await fetch(input, init);
      if (link.peek().state !== 'refused') link.value = { state: 'live' };
      return response;
    } catch (error) {
      if (init?.signal?.aborted) throw error;
      proven = false;
      if (error instanceof Refused) link.value = { state: 'refused', why: error.message };
      else if (link.peek().state !== 'offline') link.value = { state: 'offline', since: Date.now() };
      throw error;
    }
  };
  client = createClient({ url: location.origin, token: credential, fetch: guarded });
}
