/** What people type who come from other tools, and what does the same here. */
const instead: Readonly<Record<string, string>> = {
  check: 'voxform validate checks the manifests.',
  lint: 'voxform validate checks the manifests.',
  verify: 'voxform validate checks the manifests.',
  test: 'voxform validate checks the manifests; voxform plan compares them with the platform.',
  format: 'voxform fmt puts the manifests into canonical form.',
  version: 'voxform --version prints the version.',
  preview: 'voxform plan shows what apply would do.',
  up: 'voxform apply plans, asks and applies.',
  deploy: 'voxform apply plans, asks and applies.',
  sync: 'voxform apply applies the manifests once, voxform watch keeps doing so. voxform accept goes the other way.',
  push: 'voxform apply applies the manifests. voxform state push replaces the state.',
  pull: 'voxform accept writes drift into the manifests, voxform export a whole workspace. voxform state pull prints the state.',
  dump: 'voxform export writes a whole workspace as manifests.',
  edit: 'Edit the manifest and run voxform plan. voxform accept writes an edit made in the dashboard into the manifest.',
  ls: 'voxform status lists the resources, voxform state list their ids, voxform get KIND the records on the platform.',
  list: 'voxform status lists the resources, voxform state list their ids, voxform get KIND the records on the platform.',
  show: 'voxform state show ADDRESS shows what the state remembers, voxform get KIND ID what the platform holds.',
  describe:
    'voxform state show ADDRESS shows what the state remembers, voxform get KIND ID what the platform holds. voxform explain describes fields.',
  destroy: deletes(),
  delete: deletes(),
  rm: `${deletes()} voxform state rm ADDRESS releases a resource that stays in the manifests.`,
  remove: deletes(),
  refresh:
    'Every plan reads the platform. voxform drift shows what changed on it, voxform accept writes that into the manifests.',
  taint: 'voxform apply --allow-replace ADDRESS replaces a resource.',
  workspace: 'Workspaces are in voxform.yaml; -w NAME selects one.',
  create: 'Write a manifest and run voxform apply. voxform init makes a new project.',
  new: 'voxform init makes a new project.',
  '--upgrade':
    'There is nothing to upgrade: voxform has no providers. voxform schema prints the schemas of this version.',
  '--destroy': deletes(),
  '--dry-run': 'voxform plan shows what apply would do and writes nothing.',
  '--yes': 'It is --auto-approve.',
  '--force': 'To apply without being asked: --auto-approve.',
  '--parallelism': 'It is --concurrency N.',
  '--refresh': 'The platform is read unless --no-refresh is given.',
  '--refresh-only': 'voxform drift shows what changed on the platform.',
  '--replace': 'It is --allow-replace ADDRESS.',
  '--input': 'Questions are asked on a terminal only; --auto-approve does without them.',
  '--var': 'Variables are vars of a workspace in voxform.yaml, or { $env: NAME } in a manifest.',
  '--var-file': 'Variables are vars of a workspace in voxform.yaml, or { $env: NAME } in a manifest.',
  '--lock': 'The lock cannot be left out; --lock-timeout 30s waits for it.',
};

function deletes(): string {
  return 'The API deletes nothing. Take the manifest out and apply: voxform orphans then lists the record, for you to delete in the dashboard.';
}

/** A sentence that helps whoever typed this command or flag; undefined where none is known. */
export function knownElsewhere(word: string): string | undefined {
  const [name = ''] = word.replace(/^-+/, word.startsWith('-') ? '--' : '').split('=', 1);
  return Object.hasOwn(instead, name) ? instead[name] : undefined;
}

/** The commands and flags of other tools that are known. */
export const wordsOfOtherTools: readonly string[] = Object.keys(instead);
