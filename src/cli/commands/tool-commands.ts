import { Argument, Option } from 'commander';
import { SHELLS } from '../completion/complete.ts';
import type { CommandTable } from '../context.ts';
import { parseJsonObject, parsePort, parseText, withPolicies } from '../flags.ts';

const NAME = 'Name, as in { $secret: NAME }';

export const toolCommands = {
  secret: {
    summary: "Keep secrets in this machine's key store",
    define: (secret, perform) => {
      secret.description(
        "Keep secrets of this project in the operating system's key store. To use them, list keychain under secrets in voxform.yaml. Only your user account can read them.",
      );
      secret
        .command('set')
        .description('Store a secret. Its value is read from a prompt that does not show it, or from stdin.')
        .argument('<name>', NAME)
        .action(perform(async () => (await import('../actions/secret.ts')).setSecret));
      secret
        .command('list')
        .description('List the names of the stored secrets.')
        .action(perform(async () => (await import('../actions/secret.ts')).listSecrets));
      secret
        .command('remove')
        .description('Remove a stored secret.')
        .argument('<name>', NAME)
        .action(perform(async () => (await import('../actions/secret.ts')).removeSecret));
    },
  },
  fmt: {
    summary: 'Format manifests',
    define: (command, perform) =>
      command
        .description(
          'Format manifests and voxform.yaml: keys in schema order, two spaces of indentation, comments kept. Never changes a value. Prints the files it changed.',
        )
        .argument('[files...]', 'Files or folders (default: the whole project)')
        .option('--check', 'Write nothing; exit with 1 when a file is not formatted')
        .option('--diff', 'Show the diff and write nothing')
        .action(perform(async () => (await import('../actions/fmt.ts')).fmt)),
  },
  lsp: {
    summary: 'Run the language server (LSP) for an editor',
    traits: { withoutProject: true },
    define: (command, perform) =>
      withPolicies(command)
        .description(
          'Run the language server (LSP) for an editor, on stdin and stdout. It provides diagnostics as you type, completion, hover, go to definition, references, rename, fixes and formatting. See docs/editor.md for the settings of editors.',
        )
        .option('--no-secrets', 'Do not read secrets from .env or from the secret sources of the project')
        // Some editors add these flags.
        .addOption(new Option('--stdio').hideHelp())
        .addOption(new Option('--clientProcessId <n>').hideHelp())
        .action(perform(async () => (await import('../actions/lsp.ts')).lsp)),
  },
  mcp: {
    summary: 'Run the MCP server for an AI assistant',
    traits: { ownRuns: true },
    define: (command, perform) =>
      withPolicies(command)
        .description(
          'Run the MCP server for an AI assistant, on stdin and stdout. Its tools are validate, plan, drift, status, explain, schema, get, history, versions, impact and format. Its resources are manifests, schemas and docs. Writes nothing to the platform, the state or the manifests. See docs/editor.md for the settings of assistants.',
        )
        .action(perform(async () => (await import('../actions/mcp.ts')).mcp)),
  },
  emulator: {
    summary: 'Run a local emulator of the platform',
    traits: { withoutProject: true },
    define: (command, perform) =>
      command
        .description(
          'Run an emulator of the platform on this machine, for trials and tests. Endpoints below /__emulator/ perform dashboard actions. Press Ctrl-C to stop it.',
        )
        .option('--port <n>', 'Port to listen on; 0 picks a free one', parsePort, 4010)
        .option('--host <address>', 'Address to listen on', parseText, '127.0.0.1')
        .option('--data <file>', 'File to keep the records in (default: in memory)')
        .option('--seed <text>', 'Seed that makes generated ids and times the same in every run')
        .option('--api-key <key>', 'Accept only this key (default: any)', parseText)
        .option('--workspace-id <id>', 'Id of the workspace', parseText)
        .option('--behaviour <json>', 'Undocumented API behaviour to emulate, e.g. {"put":"replace"}', parseJsonObject)
        .action(perform(async () => (await import('../actions/emulator.ts')).emulator)),
  },
  ci: {
    summary: 'Post plans as comments, and find reviewed plans, in CI jobs',
    traits: { withoutProject: true },
    define: (ci, perform) => {
      ci.description(
        'Post plans as comments, and find reviewed plans, in a job of GitHub Actions or GitLab CI. Uses the variables and the token of the job. The action and the CI template of voxform run these commands.',
      );
      ci.command('comment')
        .description(
          'Post a plan as a comment on the pull or merge request of this job, or update the comment of voxform. Does nothing if the job has no pull or merge request.',
        )
        .argument('<file>', 'Plan as Markdown')
        .option('--project <dir>', 'Project folder in the repository; each project has its own comment', '.')
        .action(perform(async () => (await import('../actions/ci-job.ts')).commentPlan));
      ci.command('reviewed-plan')
        .description(
          'Find the plan that was reviewed on the pull or merge request from which the commit of this job came. On GitHub, print the run and the artifact for actions/download-artifact. On GitLab, download the plan.',
        )
        .argument('<name>', 'Job that created the plan; on GitHub, the prefix of its artifact name')
        .option('--path <file>', 'Path of the plan in the repository', 'voxform.plan')
        .option('--out <file>', 'File to write the plan to', 'voxform.plan')
        .action(perform(async () => (await import('../actions/ci-job.ts')).fetchReviewedPlan));
    },
  },
  completion: {
    summary: 'Print a shell completion script',
    traits: { withoutProject: true },
    define: (command, perform) =>
      command
        .description(
          'Print a script that completes commands, flags, values, addresses, workspaces and files. Completion reads project files only; it sends no requests.',
        )
        .addArgument(new Argument('<shell>', 'Shell that runs the script').choices(SHELLS))
        .addOption(new Option('--complete <word...>', 'print completions for these words').hideHelp())
        .action(
          perform(async () => (await import('../actions/completion.ts')).completionOf(command.parent ?? command)),
        ),
  },
} satisfies CommandTable;
