import { signal } from '@preact/signals';

const query = matchMedia('(max-width: 720px)');

/** On a phone, or at 400 % zoom. */
export const narrow = signal(query.matches);
query.addEventListener('change', ({ matches }) => (narrow.value = matches));
