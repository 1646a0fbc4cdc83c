import type { Checkout } from '../checkout.ts';
import type { Totals } from './totals.ts';

/**
 * The network of a confined process. With `on` it is this machine's own, its loopback included. With `off` and
 * `list` it has a network of its own, and only what is let through on purpose leads out of it.
 */
export type Network =
  | { readonly kind: 'on' }
  | { readonly kind: 'off' }
  /** `name`, `*.suffix`, an address, each with `:port` or for 80 and 443. Through a proxy, so HTTP and HTTPS only. */
  | { readonly kind: 'list'; readonly hosts: readonly string[] };

/** What one process may see and do. */
export interface Confinement {
  readonly checkout: Pick<Checkout, 'repository' | 'kind' | 'path' | 'agentGitDir'>;
  /** False: the tree is read-only, and `/tmp` and the home are the only places to write. */
  readonly write: boolean;
  readonly network: Network;
  /** Ports of this machine's loopback that can be reached whatever the network is: the daemon, a local model. */
  readonly loopback?: readonly number[];
  /** Added to the few variables every process gets; nothing else of our environment gets in. */
  readonly env?: Readonly<Record<string, string>>;
  /** What the config names of the home and elsewhere, absolute: tools to read, credentials to refresh. */
  readonly reads?: readonly string[];
  readonly writes?: readonly string[];
  /** What of Reveille's own folders this process is given: the home of its agent, a language server. Nothing else of them is. */
  readonly lent?: readonly string[];
  /** A folder to use as `/tmp`, so that it is the same one for the next command. Else it is empty and forgotten. */
  readonly tmp?: string;
  /** The program brings a sandbox of its own, which needs user namespaces. Leave it off if it can be switched off. */
  readonly nested?: boolean;
  readonly limits?: Partial<Limits>;
  /** What everything that is started for this checkout may take together. */
  readonly totals?: Partial<Totals>;
  /** What it counts with instead: a language server is no part of the run whose checkout it reads. */
  readonly countsWith?: string;
}

/** Of each process, but for `processes`, which counts all of a sandbox together (and is not enforced for root). */
export interface Limits {
  readonly processes: number;
  readonly memoryBytes: number;
  readonly fileBytes: number;
  readonly openFiles: number;
}
