const DELETES =
  'The API cannot delete. Remove the manifest and apply; voxform orphans then lists the record for you to delete in the dashboard.';

const CLOSES = 'Use voxform orphans close ID --because deleted, handed-over or kept.';

const SELECTS = 'Select a workspace with -w NAME or VOXFORM_WORKSPACE, or set default_workspace in voxform.yaml.';

/** Hints for commands and flags of other tools. Each hint names the counterpart in voxform. */
export const hintsByWord: Readonly<Record<string, string>> = {
  check: 'voxform validate checks the manifests.',
  lint: 'voxform validate checks the manifests.',
  verify: 'voxform validate checks the manifests.',
  test: 'voxform validate checks the manifests; voxform plan compares them with the platform.',
  format: 'voxform fmt formats the manifests.',
  version: 'voxform --version prints the version.',
  preview: 'voxform plan shows what apply would change.',
  up: 'voxform apply plans, asks for approval and applies.',
  deploy: 'voxform apply plans, asks for approval and applies.',
  sync: 'voxform apply applies the manifests once; voxform watch --mode apply applies them continuously. voxform accept writes drift into the manifests.',
  push: 'voxform apply applies the manifests. voxform state push replaces the state.',
  pull: 'voxform accept writes drift into the manifests, and voxform export writes a whole workspace. voxform state pull prints the state.',
  dump: 'voxform export writes a whole workspace as manifests.',
  edit: 'Edit the manifest and run voxform plan. voxform accept writes dashboard edits into the manifest.',
  ls: 'voxform status lists the resources, voxform state list lists their ids, and voxform get TYPE lists the records on the platform.',
  list: 'voxform status lists the resources, voxform state list lists their ids, and voxform get TYPE lists the records on the platform.',
  describe:
    'voxform state show ADDRESS shows a resource in the state, and voxform get TYPE ID shows its record on the platform. voxform explain describes fields.',
  destroy: DELETES,
  delete: DELETES,
  rm: `${DELETES} voxform state rm ADDRESS releases a resource without editing the manifests.`,
  remove: DELETES,
  refresh:
    'Every plan reads the platform. voxform drift shows the changes there, and voxform accept writes them into the manifests.',
  'state destroy': DELETES,
  'state history': 'Use voxform history.',
  'state remove': 'Use voxform state rm ADDRESS.',
  'state delete': 'Use voxform state rm ADDRESS.',
  'state ls': 'Use voxform state list.',
  'state rename': 'Use voxform state mv FROM TO.',
  'state get': 'Use voxform state show ADDRESS.',
  'orphans rm': CLOSES,
  'orphans remove': CLOSES,
  'orphans delete': CLOSES,
  'orphans list': 'voxform orphans lists the open orphans; voxform orphans --all lists all orphans.',
  'orphans ls': 'voxform orphans lists the open orphans; voxform orphans --all lists all orphans.',
  'fleet list': 'Use voxform fleet status.',
  'fleet ls': 'Use voxform fleet status.',
  'fleet token create': 'Use voxform fleet token add NAME --role viewer.',
  'fleet token delete': 'Use voxform fleet token remove NAME.',
  'fleet token rm': 'Use voxform fleet token remove NAME.',
  'fleet token ls': 'Use voxform fleet token list.',
  'secret add': 'Use voxform secret set NAME.',
  'secret create': 'Use voxform secret set NAME.',
  'secret delete': 'Use voxform secret remove NAME.',
  'secret rm': 'Use voxform secret remove NAME.',
  'secret ls': 'Use voxform secret list.',
  'workspace ls': 'Use voxform workspace list.',
  'workspace show': 'voxform workspace list marks the selected workspace.',
  'workspace select': SELECTS,
  'workspace use': SELECTS,
  'workspace new': 'Add the workspace to workspaces in voxform.yaml.',
  'workspace create': 'Add the workspace to workspaces in voxform.yaml.',
  'workspace delete': 'Remove the workspace from voxform.yaml. Its records stay on the platform.',
  taint: 'voxform cannot force a replacement; --allow-replace only permits a replacement that an edit requires.',
  update: 'voxform apply plans, asks for approval and applies.',
  upgrade: 'To upgrade voxform, install the new version as you installed this one.',
  stack: 'voxform workspace list lists the workspaces of voxform.yaml, -w NAME selects one.',
  'force-unlock': 'voxform state unlock removes a lock that a killed run left.',
  output:
    'voxform state list prints the ids of all resources, and voxform get TYPE ID prints a record. --output FORMAT is a flag of most commands.',
  logs: 'voxform get calls lists the calls of agents, and voxform history lists the runs of voxform. -v logs every request.',
  console:
    'There is no console. voxform state show ADDRESS shows a resource, voxform get TYPE ID shows a record, and voxform explain describes fields.',
  mv: 'voxform state mv renames a resource in the state.',
  rename: 'voxform state mv renames a resource in the state.',
  publish: 'The API cannot publish. Publish the agent in the dashboard.',
  reconcile: 'voxform apply applies the manifests once; voxform watch --mode apply applies them continuously.',
  login: 'There is no login: set api_key of the workspace in voxform.yaml.',
  config: 'voxform workspace list lists the workspaces of voxform.yaml.',
  create: 'Write a manifest and run voxform apply. voxform init creates a new project.',
  new: 'voxform init creates a new project.',
  '--upgrade':
    'There is nothing to upgrade: voxform has no providers. voxform schema prints the schemas of this version.',
  '--destroy': DELETES,
  '--dry-run': 'voxform plan shows what apply would change and writes nothing.',
  'apply --f': filesOf('A saved plan needs no flag: voxform apply FILE. '),
  'apply --file': filesOf('A saved plan needs no flag: voxform apply FILE. '),
  '--f': filesOf(),
  '--filename': filesOf(),
  '--yes': 'Use --auto-approve.',
  'init --force': 'init keeps existing files. To write a file again, delete it first.',
  '--force': 'To skip the approval prompt, use --auto-approve.',
  '--parallelism': 'Use --concurrency N.',
  '--refresh': 'Plans read the platform unless you pass --no-refresh.',
  '--refresh-only': 'voxform drift shows what changed on the platform.',
  '--replace': 'Use --allow-replace ADDRESS.',
  '--input': 'voxform prompts only on a terminal; --auto-approve skips the prompts.',
  '--var': 'Set variables under vars of a workspace in voxform.yaml, or use { $env: NAME } in a manifest.',
  '--var-file': 'Set variables under vars of a workspace in voxform.yaml, or use { $env: NAME } in a manifest.',
  '--lock': 'Locking cannot be disabled. To wait for the lock, use --lock-timeout 30s.',
};

function filesOf(more = ''): string {
  return `${more}voxform.yaml names the manifests; --target ADDRESS selects resources.`;
}

/**
 * Returns the hint for a command or flag of another tool, if any. A command in a group has only the hints of this group.
 * @param group the commands before the word, such as `state`; empty for the first word.
 */
export function hintForOtherTool(word: string, group = ''): string | undefined {
  const [name = ''] = word.replace(/^-+/, word.startsWith('-') ? '--' : '').split('=', 1);
  const inGroup = `${group} ${name}`;
  const words = group === '' || name.startsWith('-') ? [inGroup, name] : [inGroup];
  const found = words.find((each) => Object.hasOwn(hintsByWord, each));
  return found === undefined ? undefined : hintsByWord[found];
}
