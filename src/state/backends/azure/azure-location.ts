import type { Secret } from '../../../values/value.ts';

export interface AzureLocation {
  readonly account: string | undefined;
  readonly container: string;
  readonly name: string;
  readonly endpoint: string | undefined;
  readonly connectionString: Secret | undefined;
  readonly sasToken: Secret | undefined;
  /** True if the project was fetched: it may not use the credentials of the machine. */
  readonly isFetched: boolean;
}
