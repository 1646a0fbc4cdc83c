import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AllowList, parseTarget } from '../../src/sandbox/hosts.ts';

const allows = (hosts: string[], authority: string): boolean => {
  const target = parseTarget(authority, 443);
  return target !== null && new AllowList(hosts).allows(target);
};

describe('the list of hosts', () => {
  test('[BND2.9] a name is let through as a whole, or by a suffix of whole labels', () => {
    const hosts = ['api.example.com', '*.example.org'];
    for (const good of [
      'api.example.com',
      'API.Example.COM',
      'api.example.com.',
      'a.example.org',
      'a.b.example.org',
      'api.example.com:443',
      'api.example.com:80',
    ])
      expect(allows(hosts, good), good).toBe(true);
    const bad = [
      'example.com',
      'x.api.example.com',
      'api.example.com.evil.com',
      'evilapi.example.com',
      'example.org',
      'evilexample.org',
      'a.example.org.evil.com',
      'api.example.com:22',
      'a.example.org:8080',
    ];
    for (const each of bad) expect(allows(hosts, each), each).toBe(false);
  });

  test('[BND2.9] what is not a name or an address is refused before it is compared', () => {
    const odd = [
      'evil\0.example.org',
      'evil.com\0.example.org',
      'a b.example.org',
      'x@a.example.org',
      'a.example.org/..',
      'a..example.org',
      '.example.org',
      '-a.example.org',
      '',
      ':443',
      'a.example.org:0',
      'a.example.org:65536',
      'a.example.org:4x',
      'a.example.org:443:443',
      '[a.example.org]',
      '[::1',
      '::1',
      '١٢٧.example.org',
      'ａ.example.org',
      'a.example.org\r\nHost: b',
      `${'a'.repeat(64)}.example.org`,
      `${'a.'.repeat(130)}example.org`,
    ];
    for (const each of odd) expect(parseTarget(each, 443), JSON.stringify(each)).toBeNull();
  });

  test('[BND2.9] an address is let through only by its own entry, in whatever port it names', () => {
    expect(allows(['*.com', 'example.com'], '1.2.3.4')).toBe(false);
    expect(allows(['127.0.0.1:11434'], '127.0.0.1:11434')).toBe(true);
    expect(allows(['127.0.0.1:11434'], '127.0.0.1:443')).toBe(false);
    expect(allows(['::1', '[2001:db8::1]:8080'], '[::1]:443')).toBe(true);
    expect(allows(['::1', '[2001:db8::1]:8080'], '[2001:db8::1]:8080')).toBe(true);
    // Other ways to write the loopback are names here, and no entry has them.
    for (const each of ['127.1', '2130706433', '0x7f000001', '0177.0.0.1', '[::ffff:127.0.0.1]'])
      expect(allows(['127.0.0.1'], each), each).toBe(false);
  });

  test('[BND2.9] a name that points into this machine or a private network is refused unless that address is listed', () => {
    const list = new AllowList(['example.com', '10.0.0.7']);
    const inside = [
      '127.0.0.1',
      '127.9.9.9',
      '0.0.0.0',
      '10.0.0.8',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '198.18.0.1',
      '224.0.0.1',
      '255.255.255.255',
      '::1',
      '::',
      'fe80::1',
      'fc00::1',
      'fd12::1',
      'ff02::1',
      '::ffff:127.0.0.1',
      '::ffff:10.0.0.1',
      '::127.0.0.1',
      '64:ff9b::7f00:1',
      '2002:7f00:1::',
      'not an address',
      '',
    ];
    for (const each of inside) expect(list.allowsAddress(each, 443), each).toBe(false);
    for (const each of ['93.184.216.34', '172.15.0.1', '172.32.0.1', '2606:2800:220:1::1', '10.0.0.7'])
      expect(list.allowsAddress(each, 443), each).toBe(true);
    expect(list.allowsAddress('10.0.0.7', 22)).toBe(false);
  });

  test('[BND2.9] an entry that is no host is refused in words', () => {
    for (const entry of [
      '',
      '*',
      '*.',
      'https://example.com',
      'a b',
      '*.1.2.3.4',
      'example.com:0',
      'a*.com',
      'example.com/path',
    ])
      expect(() => new AllowList([entry]), entry).toThrow(/not a host/);
  });

  test('[BND2.9] property: a suffix lets through exactly the names below it', () => {
    const label = fc.stringMatching(/^[a-z0-9]{1,8}$/);
    fc.assert(
      fc.property(
        fc.array(label, { minLength: 1, maxLength: 4 }),
        fc.array(label, { minLength: 1, maxLength: 3 }),
        (labels, suffix) => {
          const name = labels.join('.');
          const end = `x${suffix.join('.')}`;
          fc.pre(/[a-z]/.test(name));
          expect(allows([`*.${end}`], `${name}.${end}`)).toBe(true);
          expect(allows([`*.${end}`], `${name}${end}`)).toBe(false);
          expect(allows([`*.${end}`], end)).toBe(false);
          expect(allows([`*.${end}`], `${name}.${end}.evil`)).toBe(false);
        },
      ),
    );
  });

  test('[BND2.9] property: whatever a client sends, only a listed name passes', () => {
    const list = new AllowList(['allowed.com', '*.allowed.org']);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((text) => `${text}.allowed.org`),
          fc.string().map((text) => `allowed.com${text}`),
        ),
        (text) => {
          const target = parseTarget(text, 443);
          if (target === null || !list.allows(target)) return;
          expect(target.host).toMatch(/^(?:allowed\.com|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.allowed\.org)$/);
        },
      ),
    );
  });
});
