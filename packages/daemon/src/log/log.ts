import { redact, redactText } from './redact.ts';
import { RotatingFile, type RotatingOptions } from './rotating-file.ts';

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof LEVELS)[number];

/** Says what happened. The ids of what it happened to are fields, not words, so that they can be searched for. */
export interface Log {
  debug(message: string, data?: Record<string, unknown>): void;
  info(message: string, data?: Record<string, unknown>): void;
  warn(message: string, data?: Record<string, unknown>): void;
  error(message: string, data?: Record<string, unknown>): void;
}

const LONGEST_LINE = 64_000;

export interface LogFile extends Log, Disposable {}

/** One JSON object per line, without secrets. A log that cannot be written stops nobody: it says later what is missing. */
export function openLog(options: RotatingOptions & { readonly level: Level }): LogFile {
  const file = new RotatingFile(options);
  const least = LEVELS.indexOf(options.level);
  let missing = 0;
  const write = (level: Level, message: string, data: Record<string, unknown> = {}): void => {
    if (LEVELS.indexOf(level) < least) return;
    try {
      if (missing > 0) file.write(line('warn', 'lines could not be written', { missing }));
      missing = 0;
      file.write(line(level, message, data));
    } catch {
      missing++;
    }
  };
  return {
    debug: (message, data) => write('debug', message, data),
    info: (message, data) => write('info', message, data),
    warn: (message, data) => write('warn', message, data),
    error: (message, data) => write('error', message, data),
    [Symbol.dispose]: () => file.close(),
  };
}

function line(level: Level, message: string, data: Record<string, unknown>): string {
  const fixed = { time: new Date().toISOString(), level, pid: process.pid, message: redactText(message) };
  const whole = JSON.stringify({ ...fixed, ...(redact(data) as object), ...fixed });
  const short = whole.length <= LONGEST_LINE ? whole : JSON.stringify({ ...fixed, dropped: whole.length });
  return `${plain(short)}\n`;
}

/** JSON leaves characters as they are that a terminal obeys or a reader cannot see: C1 controls, marks of direction. */
function plain(json: string): string {
  return json.replaceAll(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
