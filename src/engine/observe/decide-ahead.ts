import { kindNamed } from '../../kinds/index.ts';
import type { Address, Resource } from '../../manifests/resource.ts';
import { jsonEqual } from '../../values/json.ts';
import { isPlain } from '../../values/value.ts';
import type { Binding } from '../decide/bind.ts';
import { decide } from '../decide/decide.ts';
import { ownFacts } from '../decide/decide-all.ts';
import type { Decision, RunFacts } from '../decide/decision.ts';
import { leavesOf } from '../decide/field-rules.ts';
import { NOTHING_KNOWN } from '../decide/known-records.ts';
import type { Observation } from '../decide/observed.ts';
import { hasSecretFingerprints } from '../decide/state-entry.ts';

/** The last decision for each resource, with its inputs. It can usually be reused if the resource was not loaded again. */
const lastDecisions = new WeakMap<
  Resource,
  { readonly inputs: readonly unknown[]; readonly observation: Observation; readonly decision: Decision }
>();

/**
 * Decides early, while other reads are in flight, on resources whose action depends only on their own manifest and record. In a plan with few
 * changes, these are most resources. The decisions are equal to those of `decideAll`.
 */
export class DecideAhead {
  readonly #decisions = new Map<Address, Decision>();
  readonly #run: RunFacts;
  readonly #queue: { readonly binding: Binding; readonly observation: Observation }[] = [];

  constructor(run: RunFacts) {
    this.#run = run;
  }

  get decisions(): ReadonlyMap<Address, Decision> {
    return this.#decisions;
  }

  add(binding: Binding, observation: Observation): void {
    this.#queue.push({ binding, observation });
    // Let the next requests start before this batch of responses is processed.
    if (this.#queue.length === 1) setImmediate(() => setImmediate(() => this.decide()));
  }

  /** Decides the actions of the resources added so far. Never throws, because `decideAll` throws the same error later. */
  decide(): void {
    for (const { binding, observation } of this.#queue.splice(0)) {
      const { resource } = binding;
      const own = ownFacts(binding, this.#run);
      // Fingerprints are needed only for secrets, and resources with secrets are not decided here.
      const inputs = Object.values({ ...own, ...binding, binding: undefined, fingerprints: undefined });
      const last = lastDecisions.get(resource);
      if (last?.inputs.every((fact, index) => fact === inputs[index]) && jsonEqual(observation, last.observation)) {
        this.#decisions.set(resource.address, last.decision);
        continue;
      }
      if (!this.#isIndependent(binding, observation)) continue;
      const facts = {
        ...own,
        observation,
        leaves: leavesOf(own.kind, resource.spec),
        missing: [],
        records: NOTHING_KNOWN,
        gone: new Set<never>(),
        sameKey: [],
        sameKeyHolder: undefined,
        concurrentCreate: undefined,
        holder: undefined,
        candidates: [],
        returned: [],
      };
      try {
        const decision = decide(facts);
        this.#decisions.set(resource.address, decision);
        lastDecisions.set(resource, { inputs, observation, decision });
      } catch {
        // `decideAll` throws the same error later.
      }
    }
  }

  /** True if no other resource, list or secret affects the decision. */
  #isIndependent({ resource, entry, previousAddress, pending }: Binding, observation: Observation): boolean {
    return (
      observation.status === 'shown' &&
      entry?.id === observation.record.id &&
      previousAddress === undefined &&
      pending === undefined &&
      kindNamed(resource.kind).naturalKey === undefined &&
      kindNamed(resource.kind).alwaysSent === undefined &&
      isPlain(resource.spec) &&
      !hasSecretFingerprints(entry)
    );
  }
}
