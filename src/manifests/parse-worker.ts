import { parentPort } from 'node:worker_threads';
import type { ParseAnswer, ParseRequest } from './parallel-parser.ts';
import { parseDocuments } from './parse-documents.ts';

/*
 * Runs in its own thread. Files with problems have no result: the main thread parses them again, because the maximum nesting depends on the
 * stack of the thread.
 */

const port = parentPort;
port?.on('message', ({ batch, texts }: ParseRequest) => {
  const parsed = texts.map((text) => {
    const file = parseDocuments(text);
    return file.problems.length === 0 ? file : undefined;
  });
  port.postMessage({ batch, parsed } satisfies ParseAnswer);
});
