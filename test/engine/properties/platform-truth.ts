import type { State } from '../../../src/state/state.ts';
import { isObject, type Json, type JsonObject, jsonEqual } from '../../../src/values/json.ts';
import type { Bench, Manifest } from '../bench.ts';

/**
 * Returns the managed fields of a manifest that differ on the platform, including hidden fields; undefined if the record
 * is missing. This uses only the behaviour of the emulator and no code of the engine.
 */
export function unlike(each: Manifest, bench: Bench, state: State): string[] | undefined {
  const record = recordOf(each, bench, state);
  if (record === undefined) return undefined;
  const different: string[] = [];
  for (const [path, wanted] of leaves(each)) {
    if (path === 'llm_config.api_key') {
      const { $secret: name } = wanted as { readonly $secret: string };
      const key = bench.secrets[name] ?? '';
      if (!bench.emulator.dashboard.holdsApiKey(String(record.id), key)) different.push(path);
      continue;
    }
    const [root = '', ...rest] = path.split('.');
    const actual = rest.length === 0 ? record[root] : (record[root] as JsonObject)[rest.join('.')];
    if (!jsonEqual(storedForm(path, resolved(wanted, bench, state), bench), storedForm(path, actual as Json, bench))) {
      different.push(path);
    }
  }
  return different;
}

function recordOf({ address, spec }: Manifest, { emulator }: Bench, state: State): JsonObject | undefined {
  const { agents, numbers, webhooks, users } = emulator.world;
  const id = state.resources.get(address)?.id ?? '';
  const found = agents.get(id) ?? numbers.get(id) ?? webhooks.get(id) ?? users.get(id);
  if (found !== undefined) return found as unknown as JsonObject;
  const email = String(spec.email ?? '').toLowerCase();
  return [...users.values()].find((user) => user.email === email) as JsonObject | undefined;
}

/** Returns the fields of config objects separately, and all others unchanged. */
function leaves({ address, spec }: Manifest): [string, Json][] {
  if (!address.startsWith('Agent/')) return Object.entries(spec);
  return Object.entries(spec).flatMap(([root, value]): [string, Json][] =>
    isObject(value)
      ? Object.entries(value as JsonObject).map(([key, inner]) => [`${root}.${key}`, inner])
      : [[root, value]],
  );
}

function resolved(wanted: Json, { emulator }: Bench, state: State): Json {
  if (Array.isArray(wanted)) return wanted.map((item) => resolved(item, { emulator } as Bench, state));
  if (!isObject(wanted) || typeof wanted.$ref !== 'string') return wanted;
  const [kind, name] = wanted.$ref.split('/');
  if (kind !== 'KnowledgeBase') return state.resources.get(wanted.$ref)?.id ?? wanted.$ref;
  const base = [...emulator.world.knowledgeBases.values()].find((each) => each.name === name);
  return base?.id ?? wanted.$ref;
}

const SETS = ['llm_config.knowledge_base_ids', 'modules', 'agent_ids'];

function storedForm(path: string, value: Json | undefined, { emulator }: Bench): Json {
  if (value === undefined) return '(nothing)';
  if (path === 'number') return String(value).replace(/\D/g, '').replace(/^0+/, '');
  if (path === 'email') return String(value).toLowerCase();
  if (path === 'url') return new URL(String(value)).href;
  if (path === 'nickname') return String(value).trim();
  if (SETS.includes(path)) return [...(value as string[])].sort();
  return emulator.behaviour.normalise.trim ? trimmed(value) : value;
}

function trimmed(value: Json): Json {
  if (typeof value === 'string') return value.trim();
  if (Array.isArray(value)) return value.map(trimmed);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, trimmed(item as Json)]));
}
