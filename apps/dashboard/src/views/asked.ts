import { useEffect, useState } from 'preact/hooks';

export type Asked<T> =
  | { readonly state: 'asking' }
  | { readonly state: 'known'; readonly value: T }
  | { readonly state: 'failed'; readonly why: string };

/** Asks when it is first drawn and whenever `when` changes; what was known stays until there is news. */
export function useAsked<T>(call: () => Promise<T>, when: readonly unknown[]): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({ state: 'asking' });
  useEffect(() => {
    let current = true;
    call().then(
      (value) => current && setAsked({ state: 'known', value }),
      (error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        if (current) setAsked((known) => (known.state === 'known' ? known : { state: 'failed', why }));
      },
    );
    return () => void (current = false);
  }, when);
  return asked;
}
