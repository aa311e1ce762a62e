import { pino } from 'pino';
import type { Json } from '../values/json.ts';
import { escapeUnsafe } from '../values/unsafe-text.ts';

/** Returns a function that writes log entries as JSON objects with `level`, `time`, `message` and details, one per line. */
export function jsonLines({ write, now }: { write(line: string): void; now(): Date }): JsonLines {
  const logger = pino(
    {
      customLevels: { debug: 20, info: 30, warning: 40, error: 50 },
      useOnlyCustomLevels: true,
      level: 'debug',
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${now().toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
    },
    { write: (line: string) => write(escapeUnsafe(line)) },
  );
  return (level, message, fields) => logger[level](fields, message);
}

export type Level = 'error' | 'warning' | 'info' | 'debug';

/** The additional fields of a log entry, for programs. */
export type Fields = Readonly<Record<string, Json>>;

export type JsonLines = (level: Level, message: string, fields: Fields) => void;
