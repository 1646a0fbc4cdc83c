/** What clients ask for beside answers: how long a text is, which models there are. */
export function sideAnswer(
  path: string,
  bytes: number,
  models: readonly string[],
): { readonly status: number; readonly body: unknown } {
  const tokens = Math.ceil(bytes / 4);
  if (path.endsWith('/count_tokens')) return { status: 200, body: { input_tokens: tokens } };
  if (path.endsWith(':countTokens')) return { status: 200, body: { totalTokens: tokens } };
  if (/\/(?:models|tags)$/.test(path)) return { status: 200, body: listOf(models) };
  const message = `The scripted model has nothing at ${path}.`;
  return { status: 404, body: { type: 'error', error: { type: 'not_found_error', message } } };
}

/** One list for every dialect: each looks only at the names it knows. */
const listOf = (models: readonly string[]): unknown => ({
  object: 'list',
  has_more: false,
  data: models.map((id) => ({
    id,
    object: 'model',
    type: 'model',
    display_name: id,
    owned_by: 'reveille',
    created: 0,
    created_at: '2026-01-01T00:00:00Z',
  })),
  models: models.map((id) => ({ name: `models/${id}`, model: id, displayName: id })),
});
