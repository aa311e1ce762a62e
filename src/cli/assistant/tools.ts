import { z } from 'zod';
import { actions } from '../../engine/plan/plan-actions.ts';
import { kinds } from '../../kinds/index.ts';
import { diffTexts } from '../../output/text-diff.ts';
import { usageError } from '../../problems/user-error.ts';
import { recordTypes } from '../../runs/record-types.ts';
import { syncStatuses } from '../../runs/sync-status.ts';
import { isObject, type Json, type JsonObject } from '../../values/json.ts';
import { fewerLevels, longerStrings, type Shortening, shorterStrings } from './shorten.ts';

/** A command that an assistant may run, with a schema for its arguments. */
export interface Tool {
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly result: z.ZodType;
  /** True if the tool uses the platform, the state or the secrets of a workspace. */
  readonly opensWorkspace: boolean;
  /** A sentence that explains how to get the omitted parts of a long result. */
  readonly narrow: string;
  /** The result field whose list is returned in pages. The argument `skip` is the start of a page. */
  readonly list?: string | undefined;
  /** The names of the command's operands, in order. */
  readonly operands?: readonly string[] | undefined;
  /** The shortenings, which are applied to the result one after another until it fits. */
  readonly steps: readonly Shortening[];
  /** Returns the command line, without the workspace. */
  args(input: unknown): readonly string[];
  /** Returns the output of the command in compact form. */
  compact(output: string, input: unknown): Json;
}

interface ToolDefinition<Input extends z.ZodObject>
  extends Pick<Tool, 'title' | 'description' | 'result' | 'narrow' | 'list' | 'operands'> {
  readonly input: Input;
  readonly isOffline?: true;
  readonly steps?: readonly Shortening[];
  /** The command and the flags that every call passes. */
  readonly command: readonly string[];
  /** Returns the values of operands and flags by name. If absent, the input is used. */
  valuesFor?(input: z.infer<Input>): object;
  compact?(output: string, input: z.infer<Input>): Json;
}

/** Creates a tool without type parameters. The casts are safe because the server checks the input against the schema. */
function tool<Input extends z.ZodObject>(definition: ToolDefinition<Input>): Tool {
  const { compact = jsonOf, isOffline = false, steps = shorterStrings, command, valuesFor, ...rest } = definition;
  const { operands = [] } = rest;
  return {
    ...rest,
    steps,
    opensWorkspace: !isOffline,
    args(input) {
      const values: Arguments = { ...(valuesFor?.(input as z.infer<Input>) ?? (input as object)) };
      const flags = Object.entries(values).filter(([name]) => !SERVER_ARGUMENTS.has(name) && !operands.includes(name));
      // A value that begins with a dash must not become a flag.
      const words = flags.flatMap(([name, value = []]) => [value].flat().map((each) => `--${name}=${each}`));
      return [...command, ...words, '--', ...operands.flatMap((name) => values[name] ?? []).map(String)];
    },
    compact: (output, input) => compact(output, input as z.infer<Input>),
  };
}

function jsonOf(output: string): Json {
  return JSON.parse(output) as Json;
}

type Arguments = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** The arguments that the server handles itself: it selects the workspace, and omits the items before a page. */
const SERVER_ARGUMENTS = new Set(['workspace', 'skip']);

/** A string argument. A longer value is a mistake, and would take long to search. */
const text = () => z.string().min(1).max(500);

const skip = z
  .int()
  .min(0)
  .max(100_000)
  .default(0)
  .describe('Number of items to skip at the start of a long list, to get the next page.');
const workspace = text()
  .optional()
  .describe('Workspace of voxform.yaml. Default: the workspace for which the server was started.');
const address = text()
  .regex(/^[A-Z]\w*\/./, 'Expected KIND/NAME, e.g. Agent/support-line.')
  .describe('Address of a resource, KIND/NAME, e.g. Agent/support-line.');
const selection = {
  workspace,
  target: z
    .array(text())
    .min(1)
    .max(500)
    .optional()
    .describe('Only these addresses, or those matching a glob such as Agent/support-*, and their references.'),
  selector: text().optional().describe('Only resources with these labels: key=value,key=value.'),
};

/** A schema of objects with at least these fields, in a form that every client accepts. */
const open = <Fields extends z.ZodRawShape>(fields: Fields) =>
  z.looseObject(fields).meta({ additionalProperties: true });
const object = open({});
const count = (description: string) => z.int().describe(description);
const summary = z
  .object(Object.fromEntries(actions.map((action) => [action, z.int()])))
  .describe('Number of resources by action. noop: unchanged. manual: a person must make the change in the dashboard.');

const planResult = open({
  workspace: z.string(),
  summary,
  resources: z
    .array(
      open({
        address: z.string(),
        action: z.enum(actions),
        reason: z.string().optional(),
        changes: z
          .array(open({ path: z.string() }))
          .optional()
          .describe('For each field: values before and after, or their diff, and the cause (manifest, drift or both).'),
        changed: z.array(z.string()).optional().describe('The changed fields, in a result too long for changes.'),
      }),
    )
    .describe('Changed resources, and unchanged ones with a notice.'),
  addresses: z
    .record(z.string(), z.array(z.string()))
    .optional()
    .describe('The addresses by action, in a result too long for resources.'),
});

/** The fields of a plan that only programs need, to apply the plan or to link to it. */
const OMITTED_PLAN_FIELDS = new Set(['format_version', 'voxform_version', 'digest', 'state', 'secrets', 'dashboard']);
const OMITTED_RESOURCE_FIELDS = new Set(['kind', 'desired', 'depends_on', 'labels', 'observed_digest', 'routes']);

/** Two strings with more characters than this in total are returned as a diff. */
const MIN_DIFF_LENGTH = 300;

function withoutFields(value: Json | undefined, names: ReadonlySet<string>): JsonObject {
  const isEmpty = (part: Json) => part === null || (Array.isArray(part) && part.length === 0);
  const fields = isObject(value) ? Object.entries(value as JsonObject) : [];
  return Object.fromEntries(fields.filter(([name, part]) => !names.has(name) && !isEmpty(part)));
}

function listIn(value: Json, name: string): readonly JsonObject[] {
  const list = isObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? list : [];
}

function compactPlan(output: string): Json {
  const document = jsonOf(output);
  const resources = listIn(document, 'resources')
    .filter(({ action, notices, steps, not_applied: ignored }) => action !== 'noop' || notices || steps || ignored)
    .map((resource) => {
      const changes = listIn(resource, 'changes').map(compactChange);
      return { ...withoutFields(resource, OMITTED_RESOURCE_FIELDS), ...(changes.length > 0 && { changes }) };
    });
  return { ...withoutFields(document, OMITTED_PLAN_FIELDS), resources };
}

/** Replaces two long strings with their differing lines, because the assistant often knows the strings already. */
function compactChange({ verified, sensitive, ...change }: JsonObject): JsonObject {
  const { before, after, ...rest } = {
    ...change,
    ...(verified === false && { verified }),
    ...(sensitive === true && { sensitive }),
  } as JsonObject;
  const isLong =
    typeof before === 'string' && typeof after === 'string' && before.length + after.length > MIN_DIFF_LENGTH;
  if (isLong) return { ...rest, diff: diffTexts(before, after).map(({ sign, text }) => `${sign} ${text}`) };
  return { ...rest, ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
}

const withoutValues: Shortening = {
  note: 'Values and reasons of changes are omitted.',
  shorten: (result) => ({
    ...(result as JsonObject),
    resources: listIn(result, 'resources').map((resource) => ({
      address: resource.address ?? '',
      action: resource.action ?? '',
      changed: listIn(resource, 'changes').map(({ path = '' }) => path),
    })),
  }),
};

const onlyAddresses: Shortening = {
  note: 'Only the addresses are shown.',
  shorten(result) {
    const resources = listIn(result, 'resources');
    const names = [...new Set(resources.map(({ action }) => String(action)))];
    const of = (name: string) => resources.filter(({ action }) => action === name).map(({ address = '' }) => address);
    return {
      ...(result as JsonObject),
      resources: [],
      addresses: Object.fromEntries(names.map((name) => [name, of(name)])),
    };
  },
};

/** Warnings are omitted before values, because a plan of many resources may have a warning for each resource. */
const withoutWarnings: Shortening = {
  note: 'Warnings are omitted.',
  shorten(result) {
    const { warnings: _, ...rest } = result as JsonObject;
    return rest;
  },
};

const planSteps = [...shorterStrings, withoutWarnings, withoutValues, onlyAddresses];

/** Creates a tool whose command prints a plan. */
function planTool(command: 'plan' | 'drift', texts: Pick<Tool, 'title' | 'description'>): Tool {
  return tool({
    ...texts,
    input: z.strictObject({ ...selection, skip }),
    result: planResult,
    list: 'resources',
    narrow: 'Pass target with one address to see its changes.',
    steps: planSteps,
    command: [command, '--output=json'],
    compact: compactPlan,
  });
}

/** Returns the first `max` items as the field `name`. Sets `more` if the command returned more items than that. */
function withMore(items: readonly Json[], max: number, name: string): JsonObject {
  return { [name]: items.slice(0, max), ...(items.length > max && { more: true }) };
}

const more = z.boolean().optional().describe('True if more items follow.');

/** Returns the list as the field `name` of an object. */
const asField = (name: string) => (output: string) => ({ [name]: jsonOf(output) });

const recordNames = [...recordTypes.keys()];

export const tools: Readonly<Record<string, Tool>> = {
  validate: tool({
    title: 'Check the manifests',
    description:
      'Check voxform.yaml, all manifests and the policies, without network and secrets. Returns every problem with its file, line and column. Run it after each edit of a file; fix all errors before plan.',
    input: z.strictObject({ workspace, skip }),
    list: 'diagnostics',
    result: open({
      valid: z.boolean(),
      errors: count('Number of errors.'),
      warnings: count('Number of warnings.'),
      diagnostics: z.array(open({ message: z.string(), file: z.string() })),
    }),
    isOffline: true,
    narrow: 'Fix the problems that are shown, then validate again.',
    command: ['validate', '--output=json'],
  }),
  plan: planTool('plan', {
    title: 'Show what apply would change',
    description:
      'Compare the manifests with the platform, and show what voxform apply would create, update or replace, field by field, with guards and policy violations that would stop it. Changes nothing. A person applies the plan; this server cannot.',
  }),
  drift: planTool('drift', {
    title: 'Show what changed on the platform',
    description:
      'Show which fields were changed on the platform since the last apply, for example in the dashboard. Changes nothing. To keep such a change, write it into the manifest, or ask a person to run voxform accept.',
  }),
  status: tool({
    title: 'Show the status of each resource',
    description:
      'One entry for each resource: in sync, unpublished, not applied, drifted, changed, undeclared, manual, blocked or unknown, with the reason. Shorter than plan, without values.',
    list: 'resources',
    input: z.strictObject({
      ...selection,
      skip,
      kind: z
        .array(z.enum([...kinds.keys()]))
        .min(1)
        .optional()
        .describe('Only resources of these kinds.'),
      only: z.array(z.enum(syncStatuses)).min(1).optional().describe('Only resources with these statuses.'),
    }),
    result: open({ resources: z.array(open({ address: z.string(), status: z.string() })) }),
    narrow: 'Pass target, kind or only.',
    command: ['status', '--output=json'],
    valuesFor: ({ only, ...rest }) => ({ ...rest, only: only?.map((status) => status.replace(' ', '-')) }),
    compact: asField('resources'),
  }),
  explain: tool({
    title: 'Describe a kind, a field or a setting',
    description:
      'Describe a kind, a field of a manifest, a form of value such as $ref or $secret, or a setting of voxform.yaml: type, meaning, limits, how voxform treats it, and an example. Without a topic, list all topics. Needs no network.',
    input: z.strictObject({
      skip,
      topic: text()
        .optional()
        .describe('E.g. Agent, Agent.llm_config.temperature, metadata.labels, secret or project.guards.'),
    }),
    result: open({
      topics: z.array(object).optional().describe('Without a topic: all topics.'),
      path: z.string().optional(),
      description: z.string().optional(),
    }),
    isOffline: true,
    list: 'topics',
    operands: ['topic'],
    narrow: 'Pass topic, such as a kind or a field.',
    command: ['explain', '--output=json'],
    compact: (output, { topic }) => (topic === undefined ? asField('topics')(output) : jsonOf(output)),
  }),
  schema: tool({
    title: 'Print a JSON Schema',
    description:
      'The JSON Schema of manifests, of one kind, of voxform.yaml, or of the JSON output of a command. For one field, explain is shorter. Needs no network.',
    input: z.strictObject({
      name: text()
        .default('manifest')
        .describe('A kind such as Agent, or manifest, project, policies, plan, drift, history, impact, error.'),
      pointer: z
        .string()
        .max(1000)
        .regex(/^(\/.*)?$/s)
        .default('')
        .describe('JSON Pointer to a part of the schema, e.g. /properties/spec/properties/llm_config.'),
    }),
    result: object,
    isOffline: true,
    operands: ['name'],
    narrow: 'Pass pointer to see a part.',
    steps: fewerLevels,
    command: ['schema'],
    valuesFor: ({ name }) => ({ name }),
    compact: (output, { pointer }) => partAt(jsonOf(output), pointer),
  }),
  get: tool({
    title: 'Read records from the platform',
    description:
      'Read records as the platform has them: agents, numbers, calls and others. Strings in them, such as transcripts, were written by callers and other people.',
    input: z.strictObject({
      workspace,
      skip,
      type: z.enum(recordNames).describe('Record type to read. versions needs an id.'),
      id: text().optional().describe('One record, by id or by address such as Agent/support-line.'),
      version: z
        .union([z.int().positive(), z.literal('latest')])
        .optional()
        .describe('For versions: which version.'),
      limit: z.int().min(1).max(100).default(20).describe('Maximum number of records to read after the skipped ones.'),
      from: text().optional().describe('Calls from this date or time on, in UTC.'),
      to: text().optional().describe('Calls up to this date or time, in UTC.'),
      agent: text().optional().describe('Calls of this agent, by id or address.'),
      where: z
        .array(text())
        .min(1)
        .max(20)
        .optional()
        .describe('Calls that meet conditions on fields (=, !=, >, >=, <, <=), e.g. cost>=0.5.'),
    }),
    result: open({ records: z.array(object), more }),
    list: 'records',
    operands: ['type', 'id', 'version'],
    narrow: 'Pass id, or a smaller limit.',
    command: ['get', '--output=json'],
    valuesFor: ({ limit, skip: first, ...rest }) => ({ ...rest, limit: first + limit + 1 }),
    compact: (output, { limit, skip: first }) => withMore([jsonOf(output)].flat(), first + limit, 'records'),
  }),
  history: tool({
    title: 'List past runs',
    description:
      'The runs that changed the state, the newest first: who ran which command, from which commit, and which resources it changed. Contains no values of fields.',
    input: z.strictObject({
      workspace,
      skip,
      address: address.optional().describe('Only runs that changed this resource.'),
      number: z.int().min(1).max(200).default(20).describe('Maximum number of runs.'),
      since: text().optional().describe('Only runs since this date or time, in UTC.'),
    }),
    result: open({ runs: z.array(object), more }),
    list: 'runs',
    operands: ['address'],
    narrow: 'Pass address, or a smaller number.',
    command: ['history', '--output=json'],
    valuesFor: ({ number, skip: first, ...rest }) => ({ ...rest, number: first + number + 1 }),
    compact(output, { number, skip: first }) {
      const document = jsonOf(output) as JsonObject;
      return { ...document, ...withMore(listIn(document, 'runs'), first + number, 'runs') };
    },
  }),
  versions: tool({
    title: 'Show published versions of an agent',
    description:
      'List the published versions of a resource, or show one. With diff, compare it with another version; with diff "published" and without version, show what publishing the draft would change.',
    input: z.strictObject({
      workspace,
      address,
      skip,
      version: z.int().positive().optional().describe('Show this version.'),
      diff: z
        .union([z.int().positive(), z.literal('published')])
        .optional()
        .describe('Compare with this version.'),
    }),
    result: open({
      versions: z.array(object).optional().describe('Without version and diff: all versions.'),
    }),
    list: 'versions',
    operands: ['address', 'version'],
    narrow: 'Compare two versions with diff instead of reading both.',
    command: ['versions', '--output=json'],
    compact: (output, { version, diff }) =>
      version === undefined && diff === undefined ? asField('versions')(output) : jsonOf(output),
  }),
  impact: tool({
    title: 'Show the effect of a change on the calls',
    description:
      'For each published version of an agent: the number of its calls, the share of each outcome with its 95 % interval, and medians of duration, latency and cost. Also compares two versions. Reads all calls of the agent, which can take minutes: pass since.',
    input: z.strictObject({
      workspace,
      address,
      since: text().optional().describe('Only calls from this date or time on, in UTC.'),
      compare: z
        .string()
        .regex(/^\d{1,9}\.\.\d{1,9}$/)
        .optional()
        .describe('Two versions, e.g. 3..5. Default: the two newest.'),
      direction: z.enum(['inbound', 'outbound']).optional().describe('Only calls with this direction.'),
      channel: text().optional().describe('Only calls with this channel_type, e.g. sms.'),
    }),
    result: open({ address: z.string(), versions: z.array(object) }),
    operands: ['address'],
    narrow: 'Pass since or compare.',
    command: ['impact', '--output=json'],
  }),
  format: tool({
    title: 'Show how the manifests would be formatted',
    description:
      'The difference between files and their canonical form, as a patch. Writes nothing: apply the patch, or ask a person to run voxform fmt. Needs no network.',
    input: z.strictObject({
      files: z.array(text()).max(500).default([]).describe('Files or folders of the project. Default: all of it.'),
    }),
    result: open({ formatted: z.boolean(), patch: z.string() }),
    isOffline: true,
    narrow: 'Pass files.',
    steps: [...longerStrings, ...shorterStrings],
    command: ['fmt', '--diff'],
    operands: ['files'],
    compact: (patch) => ({ formatted: patch === '', patch }),
  }),
};

/**
 * Returns the part of the schema at a JSON Pointer.
 * @throws UserError if the schema has no such part.
 */
function partAt(schema: Json, pointer: string): Json {
  const keys = pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  return keys.reduce<Json>((part, key) => {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, key))
      throw usageError(
        `the schema has nothing at ${JSON.stringify(pointer)}`,
        'Call schema without pointer to see its parts.',
      );
    return (part as JsonObject)[key] ?? null;
  }, schema);
}
