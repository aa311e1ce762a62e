import fc from 'fast-check';
import { withDigest } from '../../src/engine/plan/plan-digest.ts';
import type { PlanDocument } from '../../src/engine/plan/plan-document.ts';
import { planDocument } from '../../src/engine/plan/plan-schema.ts';
import { isObject } from '../../src/values/json.ts';
import type { FuzzGround } from './fuzz-ground.ts';
import type { CommandResult } from './in-process.ts';
import { checkedLine, mutatedJson, mutatedText } from './mutations.ts';

/** A command and the invalid input that it gets. */
export interface Attempt {
  readonly args: readonly string[];
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** The responses by request. */
  readonly answers?: ReadonlyMap<string, { readonly status: number; readonly body: Buffer }>;
}

export interface Target {
  readonly name: string;
  attempts(ground: FuzzGround): fc.Arbitrary<Attempt>;
}

const JSON_PLAN = ['plan', '--output', 'json'];
const APPLY = ['apply', '--auto-approve', '--allow-large-change', '--allow-owner-change'];

export const targets: readonly Target[] = [
  {
    name: 'manifests',
    attempts: (ground) =>
      fc.record({
        args: fc.constantFrom(['validate', '--output', 'json'], ['plan'], [...JSON_PLAN]),
        files: mutatedText(ground.original('manifests/all.yaml')).map((text) => ({ 'manifests/all.yaml': text })),
      }),
  },
  {
    name: 'manifests of any bytes',
    attempts: () =>
      fc
        .uint8Array({ maxLength: 300 })
        .map((bytes) => ({ args: ['validate'], files: { 'manifests/all.yaml': bytes } })),
  },
  {
    name: 'project files',
    attempts: (ground) =>
      fc.record({
        args: fc.constantFrom(['validate'], ['state', 'list']),
        files: mutatedText(ground.original('voxform.yaml')).map((text) => ({ 'voxform.yaml': text })),
      }),
  },
  {
    name: 'states',
    attempts: (ground) =>
      fc.record({
        args: fc.constantFrom(
          [...JSON_PLAN],
          ['plan'],
          ['drift'],
          ['state', 'list'],
          ['state', 'show', 'Agent/a'],
          APPLY,
        ),
        files: fc
          .oneof(
            mutatedText(ground.original('state')),
            mutatedJson(JSON.parse(ground.original('state'))).map((state) => JSON.stringify(state, null, 2)),
          )
          .map((state) => ({ state })),
      }),
  },
  {
    name: 'journals',
    attempts: (ground) =>
      fc.record({
        args: fc.constantFrom(['state', 'list'], [...JSON_PLAN], APPLY),
        files: fc
          .oneof(
            mutatedJson(journalOf(ground), 2).map((entries) =>
              (Array.isArray(entries) ? entries : [entries]).map(checkedLine).join(''),
            ),
            mutatedText(journalOf(ground).map(checkedLine).join('')),
          )
          .map((journal) => ({ journal })),
      }),
  },
  {
    name: 'saved plans',
    attempts: (ground) => {
      const plan = JSON.parse(ground.original('saved.plan')) as PlanDocument;
      return fc.record({
        args: fc.constant([APPLY[0] ?? '', 'saved.plan', ...APPLY.slice(1)]),
        files: fc
          .oneof(
            { weight: 1, arbitrary: mutatedText(ground.original('saved.plan')) },
            { weight: 6, arbitrary: mutatedJson(plan, 2).map(resealed) },
            // Values that violate the schema are refused at once; these get further.
            {
              weight: 6,
              arbitrary: mutatedJson(plan.resources, 2)
                .map((resources) => ({ ...plan, resources }))
                .filter((mutant) => planDocument.safeParse(mutant).success)
                .map(resealed),
            },
          )
          .map((text) => ({ 'saved.plan': text })),
      });
    },
  },
  {
    name: 'answers',
    attempts: (ground) => {
      const status = fc.constantFrom(200, 200, 200, 201, 204, 301, 400, 404, 422);
      const changed = (recorded: unknown) =>
        fc.record({
          status,
          body: fc.oneof(
            { weight: 4, arbitrary: mutatedJson(recorded).map((body) => Buffer.from(JSON.stringify(body) ?? '')) },
            { weight: 1, arbitrary: mutatedText(JSON.stringify(recorded)).map((text) => Buffer.from(text)) },
            { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)) },
          ),
        });
      return fc.record({
        args: fc.constantFrom(
          JSON_PLAN,
          ['plan'],
          ['drift', '--output', 'markdown'],
          APPLY,
          [...APPLY, '--output', 'json'],
          ['import', 'WorkspaceUser/other', 'x'],
        ),
        answers: fc
          .subarray([...ground.answers], { minLength: 1, maxLength: 4 })
          .chain((some) => fc.tuple(...some.map(([key, body]) => fc.tuple(fc.constant(key), changed(body)))))
          .map((pairs) => new Map(pairs)),
      });
    },
  },
];

/** Returns a journal that belongs to the state, with one entry of each event. */
function journalOf(ground: FuzzGround): readonly unknown[] {
  const state = JSON.parse(ground.original('state')) as {
    lineage: string;
    serial: number;
    resources: Record<string, unknown>;
  };
  const entry = state.resources['Agent/a'];
  const orphan = {
    kind: 'Webhook',
    id: 'w',
    address: 'Webhook/h',
    reason: 'forgotten',
    since: '2026-01-01T00:00:00Z',
  };
  const pending = { since: '2026-01-01T00:00:00Z', natural_key: '1', recorded: { name: 'x' } };
  const events = [
    { type: 'updating', address: 'Agent/a', paths: ['name', 'llm_config'] },
    { type: 'not-done', address: 'Agent/a' },
    { type: 'saved', address: 'Agent/a', entry },
    { type: 'creating', address: 'PhoneNumber/other', pending },
    { type: 'forgotten', address: 'Webhook/h', orphan },
    { type: 'closed', orphan: { ...orphan, closed: { because: 'kept', since: orphan.since } } },
    { type: 'renamed', from: 'Agent/a', to: 'Agent/b' },
    { type: 'resolved', address: 'PhoneNumber/other' },
  ];
  return events.map((event, index) => ({
    lineage: state.lineage,
    serial: state.serial,
    sequence: index + 1,
    at: '2026-01-01T00:00:00Z',
    event,
  }));
}

/** Recomputes the digest, so that the file does not count as edited. */
export function resealed(mutant: unknown): string {
  if (!isObject(mutant)) return JSON.stringify(mutant) ?? '';
  try {
    return JSON.stringify(withDigest(mutant as unknown as PlanDocument));
  } catch {
    return JSON.stringify(mutant);
  }
}

/** Messages of the runtime about a program's own errors. */
const OWN_MISTAKE =
  /mistake in voxform itself|Cannot (read|set|convert|destructure|mix|access)|is not (a function|iterable|defined|a constructor)|Maximum call stack|Invalid (array|string) length|\b(Type|Range|Reference|Syntax)Error\b|\n +at .+:\d+:\d+\)?\n/;

/** Runs an attempt and returns a description of its fault; undefined if there is none. */
export async function faultOf(ground: FuzzGround, { args, files, answers }: Attempt): Promise<string | undefined> {
  ground.answerer = (key, recorded) =>
    answers?.get(key) ?? { status: recorded === undefined ? 404 : 200, body: Buffer.from(JSON.stringify(recorded)) };
  const result: CommandResult = await ground.run(args, files);
  const said = `voxform ${args.join(' ')} -> ${result.code}\n${result.stdout.slice(0, 3_000)}\n${result.stderr.slice(0, 3_000)}`;
  if (![0, 1, 2].includes(result.code)) return `the exit code is odd: ${said}`;
  if (OWN_MISTAKE.test(result.stderr) || OWN_MISTAKE.test(result.stdout)) return `an error of our own: ${said}`;
  if (result.code === 1 && result.stderr === '' && result.stdout === '') return `an error without a word: ${said}`;
  if (ground.askedTooOften) return `no end of requests: ${said}`;
  if (Object.hasOwn(Object.prototype, 'polluted')) return `every object was changed: ${said}`;
  return undefined;
}
