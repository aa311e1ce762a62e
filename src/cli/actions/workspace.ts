import { jsonText } from '../../output/json-text.ts';
import { noWrapColumns, renderTable } from '../../output/table.ts';
import { overrides } from '../../project/select-workspace.ts';
import { openProject } from '../../runs/open-workspace.ts';
import { backendOf } from '../../state/state-location.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../flags.ts';

export async function listWorkspaces(context: Context, { output }: JsonFlag): Promise<void> {
  const { terminal, env, workspace } = context;
  const { root, workspaces, defaultWorkspace } = await openProject(context);
  await Promise.all(Object.values(workspaces).map(({ secrets }) => secrets.read()));
  const names = Object.keys(workspaces);
  const only = names.length === 1 ? names[0] : undefined;
  const selected = workspace ?? overrides(env).workspace ?? defaultWorkspace ?? only;
  const rows = Object.values(workspaces).map(({ name, workspaceId, baseUrl, state, apiKey }) => ({
    name,
    selected: name === selected,
    workspace_id: workspaceId === '' ? null : workspaceId,
    base_url: baseUrl === '' ? null : baseUrl,
    state: backendOf(state).describe(state, root),
    api_key: apiKey.name,
    api_key_set: apiKey.isSet,
  }));
  if (output === 'json') return terminal.out(jsonText(rows));
  const columns = [...noWrapColumns('', 'NAME', 'WORKSPACE ID'), 'BASE URL', 'API KEY'];
  const lines = rows.map((row) => [
    row.selected ? '*' : ' ',
    row.name,
    row.workspace_id ?? '-',
    row.base_url ?? '-',
    `${row.api_key}${row.api_key_set ? '' : ' (not set)'}`,
  ]);
  terminal.out(renderTable(columns, lines, terminal.tableStyle));
}
