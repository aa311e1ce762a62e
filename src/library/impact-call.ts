import type { ImpactDocument } from '../runs/impact/impact-document.ts';
import { type ImpactSelection, measureImpact } from '../runs/impact/measure-impact.ts';
import { stateToRead } from '../runs/planning.ts';
import type { PlatformOptions } from '../runs/run-context.ts';
import { versionedRecord } from '../runs/versioned-record.ts';
import { calling } from './calls.ts';
import type { CallOptions, Project } from './options.ts';

export interface ImpactOptions extends CallOptions, PlatformOptions, ImpactSelection {
  /** Told how many calls were read. */
  onProgress?(calls: number): void;
}

/**
 * What each published version of an agent did to its calls: what `voxform impact --output json` prints. Reads all calls once, and writes
 * nothing.
 * @throws UserError, InvalidProject, PlatformError
 */
export function impact(
  project: Project,
  address: string,
  options: ImpactOptions = {},
): Promise<ImpactDocument> {
  return calling(project, options, async ({ context, opened }) => {
    const { id, versions } = versionedRecord(address, await stateToRead(context, opened));
    const { workspace } = opened;
    const { since, direction, channel, compare, onProgress } = options;
    const measured = await opened.withClient(options, (client) =>
      measureImpact({
        ...{ address, id, versions, client, workspace, onProgress },
        ...{ since, direction, channel, compare },
      }),
    );
    return measured.document;
  });
}
