import { parentPort } from 'node:worker_threads';
import type { ParseAnswer, ParseRequest } from './parse-beside.ts';
import { parseDocuments } from './parse-documents.ts';

/*
 * Runs in a thread of its own. A file with problems is not answered for: the thread that asked parses it again, because how deeply a
 * value may be nested before the parser gives up depends on the stack of the thread.
 */

const port = parentPort;
port?.on('message', ({ batch, texts }: ParseRequest) => {
  const parsed = texts.map((text) => {
    const file = parseDocuments(text);
    return file.problems.length === 0 ? file : undefined;
  });
  port.postMessage({ batch, parsed } satisfies ParseAnswer);
});
