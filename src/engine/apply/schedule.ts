import type { Address } from '../../manifests/resource.ts';
import type { ResourceResult } from './apply-report.ts';

export interface Node {
  readonly address: Address;
  readonly dependsOn: readonly Address[];
}

interface Schedule {
  /** Returns the number of nodes that may run at once; called before each start. */
  concurrency(): number;
  /** @param free starts the next node early. Call it after the last request of this node, even if the result is not known yet. */
  run(address: Address, free: () => void): Promise<ResourceResult>;
  /** Returns the reason why no further node may be started, if any; called before each start. */
  halted(): string | undefined;
}

/**
 * Runs each node after all its dependencies, with limited concurrency. Ready nodes start in the given order. Skips nodes that depend on a
 * failed node, and nodes that are not started. Their results contain the reason.
 */
export async function runGraph(
  nodes: readonly Node[],
  { concurrency, run, halted }: Schedule,
): Promise<Map<Address, ResourceResult>> {
  const results = new Map<Address, ResourceResult>();
  const waiting = new Map<Address, number>();
  const dependents = new Map<Address, Node[]>();
  const known = new Set(nodes.map((node) => node.address));
  const ready: Node[] = [];
  for (const node of nodes) {
    const waitsFor = node.dependsOn.filter((address) => known.has(address));
    waiting.set(node.address, waitsFor.length);
    for (const address of waitsFor) {
      const list = dependents.get(address);
      if (list === undefined) dependents.set(address, [node]);
      else list.push(node);
    }
    if (waitsFor.length === 0) ready.push(node);
  }

  const finish = (node: Node, result: ResourceResult): void => {
    const pairs: [Node, ResourceResult][] = [[node, result]];
    for (const [done, outcome] of pairs) {
      if (results.has(done.address)) continue;
      results.set(done.address, outcome);
      for (const dependent of dependents.get(done.address) ?? []) {
        if (outcome.status !== 'done') pairs.push([dependent, skipResult(done.address, outcome)]);
        else {
          const remaining = (waiting.get(dependent.address) ?? 1) - 1;
          waiting.set(dependent.address, remaining);
          if (remaining === 0 && !results.has(dependent.address)) ready.push(dependent);
        }
      }
    }
  };

  let next = 0;
  await new Promise<void>((resolve, reject) => {
    let occupied = 0;
    let running = 0;
    const startReady = (): void => {
      while (occupied < concurrency() && next < ready.length) {
        const node = ready[next] as Node;
        next += 1;
        const because = halted();
        if (because !== undefined) {
          finish(node, { status: 'skipped', because });
          continue;
        }
        occupied += 1;
        running += 1;
        let isOccupied = true;
        const release = (): void => {
          if (isOccupied) occupied -= 1;
          isOccupied = false;
        };
        const free = (): void => {
          release();
          queueMicrotask(startReady);
        };
        run(node.address, free).then((result) => {
          release();
          running -= 1;
          finish(node, result);
          startReady();
        }, reject);
      }
      if (running === 0 && next >= ready.length) resolve();
    };
    startReady();
  });
  return results;
}

function skipResult(address: Address, outcome: ResourceResult): ResourceResult {
  if (outcome.status === 'skipped') return outcome;
  return { status: 'skipped', because: `${address} failed` };
}
