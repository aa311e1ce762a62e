import type { Failure } from '../engine/apply/apply-report.ts';
import type { PlanWarning, Remark } from '../engine/plan/plan-document.ts';
import type { Guard, NextStep } from '../problems/next-step.ts';
import { shellWord } from '../problems/shell-word.ts';
import { adviceText } from '../problems/user-error.ts';
import { commandFor, type WorkspaceSelection } from '../problems/workspace-command.ts';
import { listed } from './address-list.ts';

/** A step as text: a sentence, or the text before a command, without the colon. */
interface Worded {
  readonly text: string;
  readonly command?: string;
}

type StepAction = NextStep['action'];
type StepOf<A extends StepAction> = Extract<NextStep, { readonly action: A }>;

const words = {
  dashboard: ({ instruction }) => ({ text: instruction }),
  publish: ({ instruction }) => ({ text: instruction }),
  import: (step) => ({
    text: importWords[step.reason](step),
    command: `voxform import ${step.address} ${step.id ?? 'ID'}`,
  }),
  resolve_not_created: ({ address }) => ({
    text: address === 'all' ? 'Then, for records that do not exist' : 'If it is missing',
    command: `voxform state resolve ${address === 'all' ? '--all' : address} --not-created`,
  }),
  recreate: ({ address, remove_id }) => ({
    text:
      address === 'all'
        ? 'If the records were deleted'
        : remove_id
          ? 'If it was deleted: remove metadata.id from the manifest, then recreate it'
          : 'If it was deleted, recreate it',
    command: `voxform apply --allow-recreate ${address}${address === 'all' ? ' --even-if-all' : ''}`,
  }),
  replace: ({ address, id }) => ({
    text: `To replace it, set metadata.replace: allow, or run this (${id} stays active until you delete it)`,
    command: `voxform apply --allow-replace ${address}`,
  }),
  release: ({ address, id, or }) => ({
    text:
      or === 'remove_id'
        ? `Remove metadata.id, or release ${id}`
        : 'If this workspace is the right one, release the record',
    command: `voxform state rm ${address}`,
  }),
  close_orphan: ({ id, because }) => ({
    text: 'If it was deleted',
    command: `voxform orphans close ${id} --because ${because}`,
  }),
  wait: () => ({
    text: 'If the platform lags or has a fault: wait. When it returns the record again, the plan is clean.',
  }),
  wait_for: ({ address, because, path }) => ({
    text: `${path === undefined ? 'Waits' : `${path} waits`} for ${address}, ${waitWords[because]}.`,
  }),
  resolve_first: ({ address }) => ({ text: `Resolve ${address} first, then plan again.` }),
  correct_workspace: () => ({ text: 'If the other workspace is the right one, correct workspace_id.' }),
  correct_id: () => ({
    text: 'Correct or remove the id: this workspace has no such record. If it belongs to another workspace, set `ids: {}` for this one in voxform.yaml to ignore metadata.id here.',
  }),
  retry_ignored: () => ({ text: 'Change the manifest, or resend it with --retry-ignored.' }),
  lift_guards: ({ guards }) => ({
    text: `To apply the whole plan anyway: ${guards.map((guard) => guardFlags[guard]).join(' and ')}`,
  }),
  waive: ({ rules, saved_plan: isSaved }) => ({
    text: `To apply it anyway${isSaved ? ', plan again with' : ''}: ${rules.map((rule) => `--waive ${rule}`).join(' ')} --because REASON`,
  }),
  keep_record: ({ id, previous_name }) => ({
    text: `To keep its ${id === null ? 'unknown create' : `record ${id}`}, add to metadata: previous_names: [${previous_name}]`,
  }),
  save_plan: () => ({ text: 'Save a new plan', command: 'voxform plan --out FILE' }),
  select_workspace: ({ workspace }) => ({
    text: 'Select its workspace',
    command: `voxform apply --workspace ${workspace} FILE`,
  }),
  unlock: ({ id }) => ({ text: 'If that run has definitely ended', command: `voxform state unlock ${id}` }),
  push_newer: ({ file }) => ({ text: 'Push the newer state', command: `voxform state push ${shellWord(file)}` }),
  allow_older_state: () => ({ text: 'To use this state anyway: --allow-older-state' }),
  move_state: ({ from }) => ({ text: 'Or move the state back', command: `voxform state move --from ${from}` }),
  list_addresses: () => ({ text: 'Addresses have the form Kind/name; `voxform state list` shows them.' }),
} satisfies { readonly [A in StepAction]: (step: StepOf<A>) => Worded };

type Import = StepOf<'import'>;

/** The maximum number of fields of a candidate to list. The others are only counted. */
const MAX_LISTED = 3;

const importWords = {
  candidate: ({ id, mentions = [], agrees = [], differs = [] }) => {
    const but =
      differs.length === 0 ? '' : `; ${listed(differs, MAX_LISTED)} ${differs.length === 1 ? 'differs' : 'differ'}`;
    return `Possibly ${id}: ${mentions.join(', ')}; ${listed(agrees, MAX_LISTED)} ${agrees.length === 1 ? 'matches' : 'match'}${but}. If this is the record`;
  },
  found: () => 'If you find it in the dashboard',
  not_listed: () => 'The list does not contain the record yet. If you find it in the dashboard',
  succeeded: () => 'Import the record, then plan again',
  closed: () => 'To manage it again',
  former: ({ id }) => `Its former record ${id} is back on the platform. To manage it`,
  returned: ({ instead_of: other }) => (other === undefined ? 'To manage it' : `To manage it instead of ${other}`),
  unsaved: () => 'Note the id. Once the state can be written again',
  odd_answer: () => 'This counts as an unknown create. Look up the record in the dashboard, then import it',
} satisfies Record<Import['reason'], (step: Import) => string>;

const waitWords = {
  missing: 'whose record is missing',
  not_created: 'which has no record yet',
  not_in_run: 'which has no record yet and is not part of this run',
} satisfies Record<StepOf<'wait_for'>['because'], string>;

function wordedStep(step: NextStep, selection: WorkspaceSelection): Worded {
  const wordsOf: (step: never) => Worded = words[step.action];
  const { text, command } = wordsOf(step as never);
  return command === undefined
    ? { text }
    : { text, command: commandFor(command, step.action === 'select_workspace' ? undefined : selection) };
}

/** True for a step that requires an action by the user; false for a step that only waits. */
export function isTask({ action }: NextStep): boolean {
  return action !== 'wait' && action !== 'wait_for';
}

/** Returns a step as a sentence. If it ends with a command, it has no full stop, so that the command can be copied. */
export function stepText(step: NextStep, selection: WorkspaceSelection): string {
  const { text, command } = wordedStep(step, selection);
  return command === undefined ? text : `${text}: ${command}`;
}

/** Returns the command of a step, or an empty string if there is none. */
export function commandOf(step: NextStep, selection: WorkspaceSelection): string {
  return wordedStep(step, selection).command ?? '';
}

/** Steps with the dashboard URL of the record that they concern. */
interface LinkedSteps {
  readonly steps?: readonly NextStep[] | undefined;
  readonly url?: string | undefined;
}

/** Joins a sentence, its steps and the link. A semicolon follows each command, because a copied semicolon does no harm. */
export function withSteps(sentence: string, { steps = [], url }: LinkedSteps, selection: WorkspaceSelection): string {
  let wasOpen = false;
  const texts = steps.map((step, index) => {
    const text = stepText(step, selection);
    const isOpen = (index < steps.length - 1 || url !== undefined) && wordedStep(step, selection).command !== undefined;
    const continued = wasOpen ? text.charAt(0).toLowerCase() + text.slice(1) : text;
    wasOpen = isOpen;
    return continued + (isOpen ? ';' : '');
  });
  return [sentence, ...texts, ...(url === undefined ? [] : [url])].join(' ');
}

export function remarkText({ message, next = [] }: Remark, selection: WorkspaceSelection): string {
  return withSteps(message, { steps: next }, selection);
}

interface WordedWarning {
  readonly address: string | null;
  readonly message: string;
  /** Fields that an update may erase, if the message only counts them. */
  readonly fields?: readonly string[];
}

interface WordingOptions {
  readonly full: boolean;
  /** The option that lists counted items, or an empty string if there is none. */
  readonly lists?: string;
}

/** Returns warnings as text for grouping. Without `full`, a resource has at most one warning about fields that its update may erase. */
export function wordedWarnings(
  warnings: readonly PlanWarning[],
  selection: WorkspaceSelection,
  { full, lists = '' }: WordingOptions,
): WordedWarning[] {
  const erasing = Map.groupBy(
    warnings.filter(({ may_erase: fields }) => fields !== undefined),
    ({ address }) => address,
  );
  return warnings.flatMap(({ address, ...remark }): WordedWarning[] => {
    if (full || remark.may_erase === undefined) return [{ address, message: remarkText(remark, selection) }];
    const fields = erasing.get(address)?.flatMap(({ may_erase: each = [] }) => each);
    erasing.delete(address);
    return fields === undefined ? [] : [{ address, ...erasingText(fields, lists) }];
  });
}

/** The maximum number of fields to name. If there are more, only API keys are named, because they cannot be restored. */
const MAX_ERASED = 1;

function erasingText(fields: readonly string[], lists: string): Omit<WordedWarning, 'address'> {
  const roots = [...new Set(fields.map((path) => path.split('.', 1)[0] ?? path))];
  const named = fields.length <= MAX_ERASED ? fields : fields.filter((path) => path.endsWith('.api_key'));
  const more = fields.length - named.length;
  const counted = `${more} ${named.length > 0 ? 'other ' : ''}field${more === 1 ? '' : 's'}`;
  const paths = [...named, ...(more > 0 ? [counted] : [])];
  const hint = more > 0 && lists !== '' ? ` (${lists} lists them)` : '';
  const message = `resends all of ${joined(roots)}: ${joined(paths)} may be erased if set only in the dashboard${hint}`;
  return { message, ...(more > 0 && { fields }) };
}

function joined(names: readonly string[]): string {
  return [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' and ');
}

/** Returns the hint and the next steps of an error as text, or undefined if there are none. */
export function helpText(
  { hint = '', advice = hint, next = [] }: Pick<Failure, 'hint' | 'advice' | 'next'>,
  selection: WorkspaceSelection,
): string | undefined {
  return withSteps(adviceText(advice, selection), { steps: next }, selection).trimStart() || undefined;
}

export const guardFlags = {
  large_change: '--allow-large-change',
  owner_change: '--allow-owner-change',
  older_commit: '--allow-older-commit',
} satisfies Record<Guard, string>;

export function guardText({ guard, message }: { readonly guard: Guard; readonly message: string }): string {
  return `${message} (override: ${guardFlags[guard]})`;
}
