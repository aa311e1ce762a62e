import type { Json } from '../values/json.ts';

export type Level = 'error' | 'warning' | 'info' | 'debug';

/** What a program wants to know beside the sentence. */
export type Fields = Readonly<Record<string, Json>>;

/** Writes one entry as a line of JSON. */
export type JsonLines = (level: Level, message: string, fields: Fields) => void;
