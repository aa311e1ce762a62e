import { readFile } from 'node:fs/promises';
import { packagePath } from '../package-files.ts';

/**
 * What every project has beside its manifests, by path.
 * @param isShared whether the state is in the repository, for every clone of it.
 */
export async function settingsFiles(isShared: boolean): Promise<[path: string, text: string][]> {
  const schemas = ['schemas/manifest.schema.json', 'schemas/project.schema.json'];
  const texts = await Promise.all(schemas.map((name) => readFile(packagePath(name), 'utf8')));
  return [
    ['.gitignore', gitIgnore(isShared)],
    ['.vscode/settings.json', editorSettings],
    ...schemas.map((name, index): [string, string] => [name, texts[index] ?? '']),
  ];
}

function gitIgnore(isShared: boolean): string {
  const state = isShared
    ? `# What voxform keeps on this machine alone. The state is not in it. The ids of a migration are for all.
.voxform/*
!.voxform/migrations/
`
    : `# The state has the only copy of the record ids, and no secrets: commit it, or keep it in another place
# that is backed up. Do not commit its lock, its backups, its history and the cache.
.voxform/cache/
.voxform/*.lock
.voxform/*.backup-*
.voxform/*.history.jsonl
.voxform/*.lost-*
.voxform/quarantine/
.voxform/rescue/
`;
  return `# Secrets and saved plans.
secrets/
*.plan
.env

${state}`;
}

/** The project file of the example, with the state in the repository. */
export function withSharedState(projectFile: string): string {
  return projectFile.replace(
    /^#.*\nstate: .*$/m,
    `# Record ids and the values last sent, without secrets: in refs/voxform/ of the remote origin, where CI finds them too.
state: { backend: git }`,
  );
}

const editorSettings = `{
  "yaml.schemas": {
    "./schemas/manifest.schema.json": ["manifests/**/*.yaml", "manifests/**/*.yml", "manifests/**/*.json"],
    "./schemas/project.schema.json": ["voxform.yaml", "voxform.yml"]
  }
}
`;

/**
 * The workflow that runs a project on GitHub.
 * @param version of voxform: exactly this one gets to see the secrets, never what is published next under its name.
 */
export function ciWorkflow(version: string): string {
  return `# Plans every pull request, and applies every merge.
name: voxform
on:
  pull_request:
  push:
    branches: [main]

permissions:
  contents: read

# The version of voxform in all jobs, pinned because it reads the secrets.
env:
  VOXFORM: voxform@${version}

jobs:
  plan:
    if: github.event_name == 'pull_request'
    runs-on: ubuntu-latest
    steps:
      # Keeps the token of the job: git reads the state with it. The whole history tells whether a commit is older than the last apply.
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with: { fetch-depth: 0 }
      - uses: actions/setup-node@820762786026740c76f36085b0efc47a31fe5020 # v7.0.0
        with: { node-version: 24 }
      - run: npx --yes "$VOXFORM" validate --output github
      - name: Plan
        # A pull request from a fork gets no secrets.
        if: github.event.pull_request.head.repo.full_name == github.repository
        run: npx --yes "$VOXFORM" plan --output markdown >> "$GITHUB_STEP_SUMMARY"
        env:
          LOCAL_API_KEY: \${{ secrets.LOCAL_API_KEY }}
          OPENAI_API_KEY: \${{ secrets.OPENAI_API_KEY }}

  apply:
    if: github.event_name == 'push'
    runs-on: ubuntu-latest
    permissions:
      contents: write # to push the state
    # In turn: one that waited for the lock of the state would apply an older commit.
    concurrency: { group: voxform-apply, cancel-in-progress: false }
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        # Check out the branch, not the pushed commit: a late job must not revert later merges.
        with: { ref: main, fetch-depth: 0 }
      - uses: actions/setup-node@820762786026740c76f36085b0efc47a31fe5020 # v7.0.0
        with: { node-version: 24 }
      - run: npx --yes "$VOXFORM" apply --auto-approve --lock-timeout 15m
        env:
          LOCAL_API_KEY: \${{ secrets.LOCAL_API_KEY }}
          OPENAI_API_KEY: \${{ secrets.OPENAI_API_KEY }}
`;
}
