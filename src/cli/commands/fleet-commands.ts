import { Option } from 'commander';
import { roles } from '../../operator/roles.ts';
import { workspaceStatuses } from '../../operator/workspace-status.ts';
import { reportFormatNames } from '../../output/formats/index.ts';
import type { CommandTable } from '../context.ts';
import { durationOption, outputOption, withFull, withPage } from '../flags.ts';

const ADDRESS = 'Address, SOURCE/PROJECT:WORKSPACE';
const ADDRESSES = 'Addresses, or patterns as in fleet.yaml, in which * matches any text: "voices/*:staging"';
const PLAN = 'Id of the plan, or a prefix of it; voxform fleet show ADDRESS prints it';

/** Commands for a fleet of workspaces, which any number of processes with one database reconcile. */
export const fleetCommands = {
  fleet: {
    summary: 'Reconcile many workspaces',
    traits: { withoutProject: true },
    define: (fleet, perform) => {
      fleet
        .description(
          'Reconcile the workspaces of a fleet.yaml, with any number of processes that share one PostgreSQL database.',
        )
        .option('--file <file>', 'Fleet file', 'fleet.yaml');
      const actions = () => import('../actions/fleet.ts');

      withPage(fleet.command('serve'), '/healthz, /readyz, /status, /metrics and POST /hooks/SOURCE')
        .description(
          'Serve the fleet: run a process that finds the workspaces, and reconciles each workspace on its interval and when its project changes. Start as many processes as needed. Press Ctrl-C to stop.',
        )
        .addOption(durationOption('--grace', 'Time to finish requests in flight on exit', '25s'))
        .action(perform(async () => (await import('../actions/fleet-serve.ts')).serveFleet, { ownRuns: true }));
      fleet
        .command('status')
        .description(
          'Show the status of the fleet: the number of workspaces by status, those that need attention, the age of the data, and the processes. With an address, show one workspace.',
        )
        .argument('[address]', ADDRESS)
        .addOption(outputOption(['text', 'json']))
        .addOption(new Option('--only <statuses...>', 'Only workspaces with this status').choices(workspaceStatuses))
        .option(
          '--detailed-exitcode',
          'Exit with 2 when a workspace is not in sync; an address or --only limits the check to the selected ones',
        )
        .action(perform(async () => (await actions()).fleetStatus));
      fleet
        .command('run')
        .description('Request an immediate run of these workspaces. Does not wait for the run.')
        .argument('<addresses...>', ADDRESSES)
        .action(perform(async () => (await actions()).fleetRun));
      fleet
        .command('pause')
        .description(
          'Pause these workspaces: start no new runs until they are resumed. A run in progress continues. With --all, freeze the fleet: all writes stop within one second. Requests in flight complete; later runs only plan and report.',
        )
        .argument('[addresses...]', ADDRESSES)
        .option('--all', 'Freeze the whole fleet; requires --because')
        .option('--because <text>', 'Reason, for fleet status and the history')
        .action(perform(async () => (await actions()).fleetPause));
      fleet
        .command('resume')
        .description(
          'Resume paused workspaces: run them immediately, and then on their interval. With --all, end the freeze of the fleet; paused workspaces stay paused.',
        )
        .argument('[addresses...]', ADDRESSES)
        .option('--all', 'End the freeze of the whole fleet')
        .action(perform(async () => (await actions()).fleetResume));
      withFull(fleet.command('show'))
        .description('Show the waiting, approved or most recently rejected plan of a workspace, in any format.')
        .argument('<address>', ADDRESS)
        .addOption(outputOption(reportFormatNames))
        .action(perform(async () => (await actions()).fleetShow));
      fleet
        .command('approve')
        .description(
          'Approve a waiting plan. In mode approve, the next run applies exactly this plan. If anything has changed, the run creates a new plan, which needs its own approval.',
        )
        .argument('<address>', ADDRESS)
        .argument('<plan>', PLAN)
        .action(perform(async () => (await actions()).fleetApprove));
      fleet
        .command('reject')
        .description(
          'Reject a waiting plan. Only a different plan will wait for approval again. You can still approve the rejected plan later.',
        )
        .argument('<address>', ADDRESS)
        .argument('<plan>', PLAN)
        .option('--because <text>', 'Reason, for fleet status')
        .action(perform(async () => (await actions()).fleetReject));
      fleet
        .command('pulls')
        .description(
          'List the open pull requests of the sources: the newest commit, and the result for each workspace.',
        )
        .option('--all', 'Include closed and merged pull requests')
        .addOption(outputOption(['text', 'json']))
        .action(perform(async () => (await actions()).fleetPulls));
      const token = fleet
        .command('token')
        .description('Add, list and remove the tokens with which people sign in to the page of fleet serve.');
      token
        .command('add')
        .description('Add a token and print it. Only a slow hash is stored, so the token cannot be shown again.')
        .argument('<name>', 'Name of its owner, shown in the history')
        .addOption(
          new Option('--role <role>', 'viewer: read; approver: also run, approve and reject; admin: everything')
            .choices(roles)
            .makeOptionMandatory(),
        )
        .action(perform(async () => (await actions()).tokenAdd));
      token
        .command('list')
        .description('List the owners of tokens and their roles.')
        .addOption(outputOption(['text', 'json']))
        .action(perform(async () => (await actions()).tokenList));
      token
        .command('remove')
        .description('Remove a token and end the sessions of its owner.')
        .argument('<name>', 'Name of its owner')
        .action(perform(async () => (await actions()).tokenRemove));
      fleet
        .command('exec')
        .description(
          'Run a command on one workspace: plan, import, state resolve and others. The command uses the project and the state of the fleet, and its lock excludes other runs. Put flags of the command after --.',
        )
        .argument('<address>', ADDRESS)
        .argument('<command...>', 'Command without voxform')
        .action(perform(async () => (await import('../actions/fleet-exec.ts')).fleetExec, { ownRuns: true }));
      fleet
        .command('init')
        .description('Create the tables of the fleet. fleet serve also creates them if it has the rights.')
        .option('--sql', 'Print the SQL statements for an administrator instead')
        .action(perform(async () => (await actions()).fleetInit));
    },
  },
} satisfies CommandTable;
