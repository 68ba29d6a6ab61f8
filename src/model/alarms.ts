/** The levels from which a rate of a survey is an alarm, as parts of the whole (docs/explanation/alarms.md#set-the-levels). */

export const ALARMS = ['drop_out', 'incidence', 'quota_full', 'rejected'] as const
type Alarm = (typeof ALARMS)[number]

/** Null: no alarm. */
export type AlarmLevels = Readonly<Record<Alarm, number | null>>

export const DEFAULT_ALARM_LEVELS = {
  drop_out: 0.3,
  incidence: 0.1,
  quota_full: 0.4,
  rejected: 0.15,
} as const satisfies AlarmLevels
