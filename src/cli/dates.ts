import { InvalidArgumentError } from 'commander';

const DATE_OR_MOMENT =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * The text itself, where it is a date or a date-time of the calendar: `Date.parse` takes the 31st of February for a day in March.
 * @throws InvalidArgumentError
 */
export function dateOrMoment(text: string): string {
  const [, year, month, day] = DATE_OR_MOMENT.exec(text) ?? [];
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  if (date.getUTCMonth() + 1 !== Number(month) || date.getUTCDate() !== Number(day)) {
    throw new InvalidArgumentError(
      'Expected a date such as 2026-01-31, or a time such as 2026-01-31T09:30:00Z.',
    );
  }
  return text;
}
