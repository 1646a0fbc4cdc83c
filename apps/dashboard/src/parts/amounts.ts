/** 1234 → 1.2k */
export function count(value: number): string {
  if (value < 1_000) return String(Math.round(value));
  if (value < 999_500) return `${(value / 1_000).toFixed(value < 9_950 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(value < 9_950_000 ? 1 : 0)}M`;
}

/** What nobody reported is unknown, not nothing. An amount with an estimate in it is marked. */
export const tokens = (value: number, estimated = false): string =>
  value === 0 ? '–' : `${estimated ? '≈' : ''}${count(value)}`;
export const money = (value: number, estimated = false): string =>
  value === 0 ? '–' : `${estimated ? '≈' : ''}$${value.toFixed(value < 1 ? 3 : 2)}`;

export function bytes(value: number): string {
  const gib = value / 2 ** 30;
  return gib >= 1 ? `${gib.toFixed(1)} GB` : `${Math.round(value / 2 ** 20)} MB`;
}

export const plural = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
