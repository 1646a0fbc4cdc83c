import { BlockList, isIP } from 'node:net';
import { ReveilleError } from '@reveille/protocol';

/** Where a request through the proxy wants to go, made plain. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

/** One entry of an allow list, made plain. Ports: those of the web unless the entry names one. */
interface Entry {
  readonly host: string;
  readonly suffix: boolean;
  readonly ports: readonly number[];
}

const WEB_PORTS = [80, 443];

/**
 * A name is compared as a whole, in lower case, without the dot of the root. What has any other character than a
 * name may have is refused before it is compared, so `evil\0.allowed.com` never gets as far as a suffix.
 */
const NAME =
  /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/** `host:port` or `[v6]:port` as a client sends it; null if it is anything else, or has no port and none is usual. */
export function parseTarget(authority: string, usualPort?: number): Target | null {
  const split = splitAuthority(authority);
  const port = split?.port ?? usualPort;
  return split === null || port === undefined ? null : { host: split.host, port };
}

function splitAuthority(
  authority: string,
): { readonly host: string; readonly port: number | undefined } | null {
  const [, v6, plain, digits] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(authority) ?? [];
  const host = plainHost(v6 ?? plain ?? '');
  const port = digits === undefined ? undefined : Number(digits);
  if (host === null || port === 0 || (port ?? 0) > 65_535) return null;
  return (v6 !== undefined) === (isIP(host) === 6) ? { host, port } : null;
}

function plainHost(text: string): string | null {
  if (isIP(text)) return text.toLowerCase();
  const name = text.toLowerCase().replace(/\.$/, '');
  return NAME.test(name) ? name : null;
}

/** Which targets a list of hosts lets through, and which addresses they may turn out to have. */
export class AllowList {
  readonly #entries: readonly Entry[];

  constructor(hosts: readonly string[]) {
    this.#entries = hosts.map(parseEntry);
  }

  /** A name by its entry or a suffix; an address only by its own entry. */
  allows({ host, port }: Target): boolean {
    return this.#entries.some((entry) => entry.ports.includes(port) && isMatch(entry, host));
  }

  /**
   * Whether a name that resolved to this address may be connected to: one of this machine or of a private network only
   * if the address itself is listed. Otherwise whoever holds a listed name could point it at our loopback.
   */
  allowsAddress(address: string, port: number): boolean {
    return !isPrivate(address) || this.allows({ host: address, port });
  }
}

function isMatch(entry: Entry, host: string): boolean {
  if (!entry.suffix || isIP(host)) return entry.host === host;
  return host.endsWith(`.${entry.host}`);
}

function parseEntry(text: string): Entry {
  const suffix = text.startsWith('*.');
  const rest = suffix ? text.slice(2) : text;
  // An address of version 6 needs its brackets only in front of a port.
  const split = splitAuthority(isIP(rest) === 6 ? `[${rest}]` : rest);
  if (split === null || (suffix && isIP(split.host)))
    throw new ReveilleError(
      'invalid_input',
      `'${text}' is not a host of the network list: write a name, *.suffix or an address, with :port if it is not 80 or 443.`,
    );
  return { host: split.host, suffix, ports: split.port === undefined ? WEB_PORTS : [split.port] };
}

// One list for each version: a list of both takes every address of version 4 for a mapped one.
const PRIVATE_4 = new BlockList();
const PRIVATE_6 = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const)
  PRIVATE_4.addSubnet(network, bits, 'ipv4');
// Not only the private ones: those that carry an address of version 4 inside (mapped, NAT64, 6to4) could carry a private one.
for (const [network, bits] of [
  ['::', 96],
  ['::ffff:0:0', 96],
  ['64:ff9b::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
] as const)
  PRIVATE_6.addSubnet(network, bits, 'ipv6');

function isPrivate(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return PRIVATE_4.check(address, 'ipv4');
    case 6:
      return PRIVATE_6.check(address, 'ipv6');
    default:
      return true;
  }
}
