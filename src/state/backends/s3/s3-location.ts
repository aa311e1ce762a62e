import type { Secret } from '../../../values/value.ts';
import type { Siblings } from '../bucket/bucket-settings.ts';

export interface S3Location {
  readonly bucket: string;
  readonly key: string;
  readonly siblings: Siblings | undefined;
  readonly region: string | undefined;
  readonly endpoint: string | undefined;
  readonly pathStyle: boolean;
  readonly profile: string | undefined;
  readonly accessKeyId: Secret | string | undefined;
  readonly secretAccessKey: Secret | undefined;
  readonly sessionToken: Secret | undefined;
  readonly sse: 'AES256' | 'aws:kms' | undefined;
  readonly kmsKeyId: string | undefined;
  /** True if the project was fetched: it may not use the credentials of the machine. */
  readonly isFetched: boolean;
}
