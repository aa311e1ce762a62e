import { jsonText } from '../../output/json-text.ts';
import { renderTable } from '../../output/table.ts';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import { openWorkspace } from '../../runs/open-workspace.ts';
import type { State } from '../../state/state.ts';
import type { Context } from '../context.ts';
import { unknownInState } from '../unknown-in-state.ts';

export interface StateOutput {
  readonly output: 'text' | 'json';
}

interface Row {
  readonly address: string;
  readonly id: string | null;
  readonly status: 'managed' | 'adopted' | 'unknown';
}

export async function listState(context: Context, { output }: StateOutput): Promise<number> {
  const state = await open(context);
  const rows = rowsOf(state);
  const { terminal } = context;
  if (output === 'json') terminal.out(jsonText(rows));
  else if (rows.length === 0) context.log.info('No resources in the state.');
  else {
    const columns = [{ title: 'ADDRESS', whole: true }, { title: 'ID', whole: true }, { title: 'STATUS' }];
    terminal.out(
      renderTable(
        columns,
        rows.map(({ address, id, status }) => [address, id ?? '-', status]),
        terminal.tableStyle,
      ),
    );
  }
  return ExitCode.ok;
}

export async function showState(
  context: Context,
  { address }: { readonly address: string },
): Promise<number> {
  const state = await open(context);
  const entry = state.resources.get(address);
  const pending = state.pending.get(address);
  if (entry === undefined && pending === undefined)
    throw unknownInState(address, [...state.resources.keys(), ...state.pending.keys()]);
  const shown = { address, ...entry, ...(pending !== undefined && { pending }) };
  context.terminal.out(jsonText(shown));
  return ExitCode.ok;
}

export async function unlockState(context: Context, { id }: { readonly id: string }): Promise<number> {
  const { store } = await openWorkspace(context, { requireKey: false });
  const runs = await store.history().catch(() => []);
  const named = runs.filter(({ run }) => run.startsWith(id)).map(({ run }) => run);
  // Ids of locks that were taken within a minute may begin alike.
  if (named.length > 1)
    throw new UserError(`${named.length} runs begin with ${id}: ${named.slice(0, 5).join(', ')}`);
  const lock = await store.unlock(id);
  context.terminal.out(`Released lock ${lock.id} of ${lock.who} (${lock.operation}, since ${lock.since}).\n`);
  return ExitCode.ok;
}

async function open(context: Context): Promise<State> {
  return (await openWorkspace(context, { requireKey: false })).state();
}

function rowsOf(state: State): Row[] {
  const addresses = new Set([...state.resources.keys(), ...state.pending.keys()]);
  return [...addresses].sort().map((address) => {
    const entry = state.resources.get(address);
    const status = state.pending.has(address) ? 'unknown' : entry?.adopted ? 'adopted' : 'managed';
    return { address, id: entry?.id ?? null, status };
  });
}
