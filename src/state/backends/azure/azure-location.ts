import type { Secret } from '../../../values/value.ts';
import type { Siblings } from '../bucket/bucket-settings.ts';

export interface AzureLocation {
  readonly account: string | undefined;
  readonly container: string;
  readonly name: string;
  readonly siblings: Siblings | undefined;
  readonly endpoint: string | undefined;
  readonly connectionString: Secret | undefined;
  readonly sasToken: Secret | undefined;
  /** True if the project was fetched: it may not use the credentials of the machine. */
  readonly isFetched: boolean;
}
