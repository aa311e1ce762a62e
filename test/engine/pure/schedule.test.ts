import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ResourceResult } from '../../../src/engine/apply/apply-report.ts';
import { type Node, runGraph } from '../../../src/engine/apply/schedule.ts';

const done: ResourceResult = { status: 'done', id: 'R1' };
const failed: ResourceResult = { status: 'failed', error: 'no' };

/** Nodes in any order that only refer to earlier ones, so that there is no cycle. */
const graph: fc.Arbitrary<Node[]> = fc
  .array(fc.array(fc.nat({ max: 11 }), { maxLength: 3 }), { maxLength: 12 })
  .chain((edges) => {
    const nodes = edges.map((targets, index) => ({
      address: `n${index}`,
      dependsOn: [...new Set(targets.filter((target) => target < index))].map((target) => `n${target}`),
    }));
    return fc.shuffledSubarray(nodes, { minLength: nodes.length });
  });

/** Returns all direct and indirect dependencies of a node among these nodes. */
function ancestors(nodes: readonly Node[], address: string): Set<string> {
  const found = new Set<string>();
  const open = [address];
  for (const each of open) {
    for (const next of nodes.find((node) => node.address === each)?.dependsOn ?? []) {
      if (!found.has(next)) {
        found.add(next);
        open.push(next);
      }
    }
  }
  return found;
}

function turns(count: number): Promise<void> {
  return count === 0 ? Promise.resolve() : Promise.resolve().then(() => turns(count - 1));
}

describe('runGraph', () => {
  it('starts each node once, after its dependencies, and within the concurrency', async () => {
    await fc.assert(
      fc.asyncProperty(
        graph,
        fc.integer({ min: 1, max: 4 }),
        fc.infiniteStream(fc.nat(5)),
        async (nodes, concurrency, waits) => {
          const started: string[] = [];
          const finished = new Set<string>();
          let running = 0;
          let maxRunning = 0;
          const results = await runGraph(nodes, {
            concurrency: () => concurrency,
            halted: () => undefined,
            async run(address, free) {
              started.push(address);
              for (const each of ancestors(nodes, address)) expect(finished).toContain(each);
              running += 1;
              maxRunning = Math.max(maxRunning, running);
              await turns(waits.next().value ?? 0);
              running -= 1;
              if (waits.next().value % 2 === 1) free();
              await turns(waits.next().value ?? 0);
              finished.add(address);
              return done;
            },
          });
          expect([...started].sort()).toEqual(nodes.map(({ address }) => address).sort());
          expect(results.size).toBe(nodes.length);
          expect(maxRunning).toBeLessThanOrEqual(concurrency);
          if (nodes.filter(({ dependsOn }) => dependsOn.length === 0).length >= concurrency) {
            expect(maxRunning).toBe(Math.min(concurrency, nodes.length));
          }
        },
      ),
    );
  });

  it('skips only the dependents of a failed node', async () => {
    await fc.assert(
      fc.asyncProperty(
        graph,
        fc.uniqueArray(fc.nat(11)),
        fc.integer({ min: 1, max: 4 }),
        async (nodes, bad, concurrency) => {
          const breaking = new Set(bad.map((index) => `n${index}`));
          const results = await runGraph(nodes, {
            concurrency: () => concurrency,
            halted: () => undefined,
            run: async (address) => (breaking.has(address) ? failed : done),
          });
          for (const { address } of nodes) {
            const above = [...ancestors(nodes, address)];
            const causes = above.filter((each) => breaking.has(each));
            const result = results.get(address);
            if (causes.length === 0) expect(result).toEqual(breaking.has(address) ? failed : done);
            else {
              expect(result?.status).toBe('skipped');
              expect(causes.map((each) => `${each} failed`)).toContain(
                result?.status === 'skipped' ? result.because : '',
              );
            }
          }
        },
      ),
    );
  });

  it('starts independent nodes in the given order', async () => {
    const nodes = ['c', 'a', 'b'].map((address) => ({ address, dependsOn: [] }));
    const started: string[] = [];
    await runGraph(nodes, {
      concurrency: () => 1,
      halted: () => undefined,
      run: async (address) => {
        started.push(address);
        return done;
      },
    });
    expect(started).toEqual(['c', 'a', 'b']);
  });

  it('starts no further nodes once halted, finishes running ones, and reports the reason for the rest', async () => {
    const nodes = [
      { address: 'b', dependsOn: [] },
      { address: 'a', dependsOn: [] },
      { address: 'c', dependsOn: ['b'] },
      { address: 'd', dependsOn: [] },
      { address: 'e', dependsOn: ['d'] },
    ];
    let halted: string | undefined;
    let release = (): void => undefined;
    const results = await runGraph(nodes, {
      concurrency: () => 2,
      halted: () => halted,
      run: async (address) => {
        if (address === 'a') {
          halted = 'enough';
          release();
          return failed;
        }
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        return done;
      },
    });
    const skipped = { status: 'skipped', because: 'enough' };
    expect(Object.fromEntries(results)).toEqual({ a: failed, b: done, c: skipped, d: skipped, e: skipped });
  });

  it('ignores dependencies outside the graph', async () => {
    const results = await runGraph([{ address: 'a', dependsOn: ['elsewhere'] }], {
      concurrency: () => 1,
      halted: () => undefined,
      run: async () => done,
    });
    expect(results.get('a')).toEqual(done);
  });

  it('passes on the reason why a run skipped its node', async () => {
    const because = 'Agent/x has no record yet (blocked)';
    const nodes = [
      { address: 'a', dependsOn: [] },
      { address: 'b', dependsOn: ['a'] },
    ];
    const results = await runGraph(nodes, {
      concurrency: () => 2,
      halted: () => undefined,
      run: async () => ({ status: 'skipped', because }),
    });
    expect(results.get('b')).toEqual({ status: 'skipped', because });
  });

  it('rejects with the error that a run throws', async () => {
    const running = runGraph([{ address: 'a', dependsOn: [] }], {
      concurrency: () => 1,
      halted: () => undefined,
      run: () => Promise.reject(new Error('our own mistake')),
    });
    await expect(running).rejects.toThrow('our own mistake');
  });

  it('returns at once for an empty graph', async () => {
    const results = await runGraph([], { concurrency: () => 1, halted: () => undefined, run: async () => done });
    expect(results.size).toBe(0);
  });
});
