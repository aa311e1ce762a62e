import { LastLoad } from '../operator/last-load.ts';

/** Bytes of files that are kept as what they were loaded as, which takes several times that much memory. */
const MOST_BYTES = 32 * 1024 * 1024;

/** The last loads of the workspaces of a process, those that ran last where there is no room for all. */
export class KeptLoads {
  readonly #loads = new Map<string, LastLoad>();

  of(address: string): LastLoad {
    const load = this.#loads.get(address) ?? new LastLoad();
    this.#loads.delete(address);
    let bytes = [...this.#loads.values()].reduce((sum, each) => sum + each.bytes, load.bytes);
    for (const [oldest, { bytes: freed }] of this.#loads) {
      if (bytes <= MOST_BYTES) break;
      this.#loads.delete(oldest);
      bytes -= freed;
    }
    this.#loads.set(address, load);
    return load;
  }
}
