import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject, type Json, type JsonObject } from '../../../src/values/json.ts';
import { actionsOf, at, Bench, type Manifest, manifest } from '../bench.ts';
import { unlike } from './platform-truth.ts';
import { agentSpecs, behaviours, started, withoutKey, workspaces } from './workspaces.ts';

interface Field {
  readonly address: string;
  readonly id: string;
  readonly collection: 'agents' | 'users';
  readonly path: string;
  /** A person's edit of the field in the dashboard. */
  readonly edit: JsonObject;
}

/** Returns the managed fields that reads return and that can be changed in the dashboard. */
async function editableFields(bench: Bench, manifests: readonly Manifest[], clears: boolean): Promise<Field[]> {
  const { resources } = await bench.state();
  const shown: readonly string[] = ['name', ...bench.emulator.behaviour.shows.read];
  return manifests.flatMap(({ address, spec }): Field[] => {
    const id = resources.get(address)?.id;
    if (id === undefined) return [];
    if (address.startsWith('WorkspaceUser/')) {
      // An update would resend a module that no request may name, so it is blocked.
      const isBlocked = spec.modules === undefined && bench.emulator.world.users.get(id)?.modules?.includes('billing');
      if (spec.role === undefined || isBlocked) return [];
      const role = spec.role === 'member' ? 'admin' : 'member';
      return [{ address, id, collection: 'users', path: 'role', edit: { role } }];
    }
    if (!address.startsWith('Agent/')) return [];
    return Object.entries(spec).flatMap(([root, value]): Field[] => {
      if (!shown.includes(root)) return [];
      if (!isObject(value)) {
        return [{ address, id, collection: 'agents', path: root, edit: { [root]: `${value}, moved` } }];
      }
      return Object.entries(value as JsonObject).flatMap(([key, inner]): Field[] => {
        const moved = movedValue(inner);
        if (moved === undefined || key === 'base_url') return [];
        return [
          {
            address,
            id,
            collection: 'agents',
            path: `${root}.${key}`,
            edit: { [root]: { [key]: clears ? null : moved } },
          },
        ];
      });
    });
  });
}

function movedValue(value: Json): Json | undefined {
  if (typeof value === 'string') return `${value}, moved`;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  return undefined;
}

describe('a change in the dashboard', () => {
  it('is drift if reads return it, and the next apply restores the value', async () => {
    await fc.assert(
      fc.asyncProperty(workspaces, behaviours, fc.nat(), fc.boolean(), async (workspace, behaviour, choice, clears) => {
        const { manifests } = workspace;
        await using bench = await started(workspace, clears ? { ...behaviour, unsetFields: 'leftOut' } : behaviour);
        await bench.apply(manifests);
        // The first read after the creates. Only then does the state know which fields reads return.
        if (clears) await bench.apply(manifests);
        const before = actionsOf(await bench.plan(manifests));
        const all = await editableFields(bench, manifests, clears);
        // Only fields of config objects can be unset.
        const fields = all.filter(({ path }) => !clears || path.includes('.'));
        const field = fields[choice % Math.max(1, fields.length)];
        fc.pre(field !== undefined);
        if (field === undefined) return;
        const { address, id, collection, path, edit } = field;
        bench.emulator.dashboard.edit(collection, id, edit);
        bench.requests();

        const drift = await bench.drift(manifests);
        expect(drift.resources.filter(({ action }) => action !== 'noop').map((each) => each.address)).toEqual([
          address,
        ]);
        expect(at(drift, address).changes.map((change) => [change.path, change.cause])).toEqual([[path, 'drift']]);
        expect(bench.writes).toEqual([]);
        const report = await bench.apply(manifests);
        expect([...report.results]).toEqual([[address, { status: 'done', id }]]);
        expect(actionsOf(await bench.plan(manifests))).toEqual(before);
        const state = await bench.state();
        const moved = manifests.find((each) => each.address === address);
        expect(moved && unlike(moved, bench, state)).toEqual([]);
      }),
      { numRuns: 15 },
    );
  });

  it('of an unmanaged field survives every update', async () => {
    const theirs = {
      call_config: { ring_duration_ms: 77 },
      llm_config: { region: 'theirs' },
      prompt_config: { welcome_message_type: 'theirs' },
      stt_config: { provider: 'theirs' },
      tts_config: { speaker: 'theirs' },
    };
    const ours = agentSpecs.map((spec): JsonObject => {
      const { stt_config, call_config, ...rest } = withoutKey(spec);
      const { model } = (stt_config ?? {}) as JsonObject;
      return { ...rest, llm_config: { model: 'x' }, stt_config: { model: model ?? 'x' } };
    });
    await fc.assert(
      fc.asyncProperty(ours, ours, behaviours, async (before, after, behaviour) => {
        const shows = { read: Object.keys(theirs) as never, update: [] };
        await using bench = await Bench.start({ ...behaviour, shows });
        const desired = [manifest('Agent/a', after)];
        await bench.apply([manifest('Agent/a', before)]);
        const [id = ''] = bench.emulator.world.agents.keys();
        bench.emulator.dashboard.edit('agents', id, theirs);
        await bench.apply(desired);
        expect(bench.emulator.world.agents.get(id)).toMatchObject(theirs);
        expect(actionsOf(await bench.plan(desired))).toEqual({ 'Agent/a': 'noop' });
      }),
      { numRuns: 15 },
    );
  });
});
