import { parentPort } from 'node:worker_threads';
import type { ParseRequest, ParseResponse } from './parallel-parser.ts';
import { parseDocuments } from './parse-documents.ts';

/*
 * This module runs in its own thread. It returns no result for a file with problems. The main thread parses that file again, because the
 * maximum nesting depth depends on the stack size of the thread.
 */

const port = parentPort;
port?.on('message', ({ batch, texts }: ParseRequest) => {
  const parsed = texts.map((text) => {
    const file = parseDocuments(text);
    return file.problems.length === 0 ? file : undefined;
  });
  port.postMessage({ batch, parsed } satisfies ParseResponse);
});
