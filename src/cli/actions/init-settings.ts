export const gitIgnore = `# Secrets and saved plans.
secrets/
*.plan
.env

# The state has the only copy of the record ids, and no secrets: commit it, or keep it in another place
# that is backed up. Do not commit its lock, its backups, its history and the cache.
.voxform/cache/
.voxform/*.lock
.voxform/*.backup-*
.voxform/*.history.jsonl
.voxform/*.lost-*
.voxform/quarantine/
.voxform/rescue/
`;

export const editorSettings = `{
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
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with: { persist-credentials: false }
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
      contents: write
    # One apply at a time: runners do not share the lock of a state file.
    concurrency: { group: voxform-apply, cancel-in-progress: false }
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        # The branch, not the pushed commit: the apply before this one may have pushed a newer state.
        with: { ref: main }
      - uses: actions/setup-node@820762786026740c76f36085b0efc47a31fe5020 # v7.0.0
        with: { node-version: 24 }
      - run: npx --yes "$VOXFORM" apply --auto-approve
        env:
          LOCAL_API_KEY: \${{ secrets.LOCAL_API_KEY }}
          OPENAI_API_KEY: \${{ secrets.OPENAI_API_KEY }}
      - name: Commit the state
        if: always()
        run: |
          git config user.name voxform
          git config user.email voxform@users.noreply.github.com
          if [ -e .voxform ]; then git add .voxform; fi
          git diff --cached --quiet || (git commit -m "Update voxform state" && git push)
`;
}
