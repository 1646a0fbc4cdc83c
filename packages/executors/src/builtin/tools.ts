/** A tool as the loop is given it; what it is and may do was decided by whoever hands it in. */
export interface BuiltinTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly readOnly: boolean;
  /** Never throws: what went wrong is in the result. */
  execute(
    input: unknown,
    call: { readonly callId: string; readonly signal: AbortSignal },
  ): Promise<BuiltinResult>;
}

export interface BuiltinResult {
  readonly text: string;
  readonly structured: Readonly<Record<string, unknown>> | null;
  readonly isError: boolean;
  readonly error: { readonly code: string } | null;
  readonly notice: string | null;
}

/** A call as the model made it. */
export interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

const REPORT = 'a2a_subtask_complete';
const WRITES = new Set(['create_file', 'edit_file', 'delete_file']);

export const isReport = ({ name }: Call): boolean => name === REPORT;

/** The run is over: its report was accepted, or somebody else ended it. */
export function endsRun(call: Call, { structured, error }: BuiltinResult): boolean {
  if (error?.code === 'stale_caller') return true;
  return isReport(call) && structured?.['accepted'] === true;
}

/** The file that a call changed, if it is one that changes files. */
export function touched(call: Call, { isError, structured }: BuiltinResult): string | null {
  if (isError || !WRITES.has(call.name)) return null;
  const path = structured?.['path'];
  return typeof path === 'string' ? path : null;
}

/** Calls that may be made at the same time stand together; what writes stands alone, in the order it was asked for. */
export function together(calls: readonly Call[], tools: ReadonlyMap<string, BuiltinTool>): Call[][] {
  const groups: Call[][] = [];
  let open = false;
  for (const call of calls) {
    const joins = (tools.get(call.name)?.readOnly ?? true) || call.name.startsWith('a2a_spawn');
    if (joins && open) groups.at(-1)?.push(call);
    else groups.push([call]);
    open = joins;
  }
  return groups;
}
