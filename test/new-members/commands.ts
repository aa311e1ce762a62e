import { command } from '../trust/in-process.ts';

/* Executes each command that its parent sends, with the sources beside it. */

interface Asked {
  readonly id: number;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

process.on('message', async ({ id, args, ...surroundings }: Asked) => {
  process.send?.({ id, ...(await command(args, surroundings)) });
});
