import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { ParallelParser } from '../../src/manifests/parallel-parser.ts';
import { type ParsedFile, parseDocuments } from '../../src/manifests/parse-documents.ts';
import { isObject, type Json } from '../../src/values/json.ts';

const prompt = '    Ask what the caller needs, and never promise a date.\n'.repeat(60);

/** Enough texts for a thread to be worthwhile, including all cases that a thread could parse differently. */
const texts = Array.from({ length: 600 }, (_, index) => {
  switch (index % 50) {
    case 10:
      return 'broken: [';
    case 20:
      return `deep: ${'['.repeat(400)}${']'.repeat(400)}\n`;
    case 40:
      return `a: &same {text: "${index}"}\nb: [*same, *same]\nc: {<<: *same, zero: -0, empty: }\n`;
    default:
      return `name: agent-${index}\n---\nprompt: |\n${prompt}`;
  }
});

/** Too deep for any stack, so the parser fails at a level that depends on the stack. */
texts[300] = `${'- '.repeat(20_000)}a\n`;

const CORES = 2;

interface Started {
  readonly worker: Worker;
  readonly online: Promise<unknown>;
  readonly message: Promise<unknown>;
}

const started: Started[] = [];
process.on('worker', (worker) =>
  started.push({ worker, online: once(worker, 'online'), message: once(worker, 'message') }),
);

afterEach(() => {
  started.splice(0);
});

interface Outcome {
  /** The results for each text, which count how often it was parsed. */
  readonly done: ReadonlyMap<number, readonly ParsedFile[]>;
  readonly taken: number;
}

/** Parses like a reader: parses texts here that the thread has not taken, and yields now and then. */
async function parseAll(beside: ParallelParser, onTurn: (at: number) => Promise<void> | void): Promise<Outcome> {
  const done = new Map<number, ParsedFile[]>();
  let taken = 0;
  for (const [at, text] of texts.entries()) {
    let isDone = false;
    beside.parse(text, (parsed) => {
      isDone = true;
      done.set(at, [...(done.get(at) ?? []), parsed]);
    });
    if (!isDone) taken++;
    if (at % 10 === 0) {
      await setImmediate();
      await onTurn(at);
    }
  }
  await beside.finish();
  return { done, taken };
}

const alone = texts.map(parseDocuments);

function expectAllDoneOnce({ done }: Outcome): void {
  const shown = texts.map((_, at) => (done.get(at) ?? []).map(withoutStack));
  expect(shown).toEqual(alone.map((parsed) => [withoutStack(parsed)]));
}

function withoutStack({ documents, problems }: ParsedFile): ParsedFile {
  return {
    documents,
    problems: problems.map((problem) => (problem.code === 'too-deep' ? { ...problem, column: 0 } : problem)),
  };
}

describe('parser in a second thread', () => {
  it('gives the same results as parsing here, each text once', async () => {
    const outcome = await parseAll(new ParallelParser(CORES), () => {});
    expect(started).toHaveLength(1);
    expect(outcome.taken).toBeGreaterThan(0);
    expectAllDoneOnce(outcome);
  });

  it('keeps aliases shared, so that a value is as small as here', async () => {
    const values: (Json | undefined)[] = [];
    const beside = new ParallelParser(CORES);
    for (const text of texts) beside.tryQueue(text, ({ documents }) => values.push(documents[0]?.value));
    await beside.finish();
    const shared = values.flatMap((value) => (isObject(value) && Array.isArray(value.b) ? [value.b] : []));
    expect(shared).not.toEqual([]);
    for (const [one, other] of shared) expect(one).toBe(other);
  });

  it.each([
    { reason: 'as soon as it has started', when: 'online' },
    { reason: 'in the middle of its work', when: 'message' },
  ] as const)('loses nothing if the thread dies $reason', { tags: ['long'] }, async ({ when }) => {
    let died = false;
    const outcome = await parseAll(new ParallelParser(CORES), async (at) => {
      // By then its queue is longer than it will ever receive.
      if (died || at < 400) return;
      const [{ worker, ...happened } = expect.fail('no thread')] = started;
      await happened[when];
      await worker.terminate();
      died = true;
    });
    expect(died).toBe(true);
    expectAllDoneOnce(outcome);
  });

  it('leaves no thread, finished or not', async () => {
    const beside = new ParallelParser(CORES);
    await parseAll(beside, () => {});
    const given = new ParallelParser(CORES);
    for (const text of texts) given.tryQueue(text, () => {});
    await given.end();
    expect(started).toHaveLength(2);
    // A thread that has ended has no id.
    expect(started.map(({ worker }) => worker.threadId)).toEqual([-1, -1]);
  });

  it.each([
    { reason: 'for few texts', cores: CORES, some: texts.slice(0, 50) },
    { reason: 'on a single core', cores: 1, some: texts },
  ])('starts no thread $reason', async ({ cores, some }) => {
    const beside = new ParallelParser(cores);
    expect(some.some((text) => beside.tryQueue(text, () => {}))).toBe(false);
    await beside.finish();
    expect(started).toEqual([]);
  });
});
