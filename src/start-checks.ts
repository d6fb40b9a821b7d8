/** What is checked when the service starts, because it depends on the store. */
import type { Config } from './config.ts'
import { UsageError } from './errors.ts'
import type { Features } from './features.ts'
import type { Log } from './platform/log.ts'

const noAdminWithPasskey =
  'CHIRON_STAFF_PASSKEY cannot be required: no admin has a passkey. Start without it, let an admin add one in the console, and set it again'

const lockout =
  'CHIRON_STAFF_SIGN_IN would lock staff out: without code, an admin needs a school account that is connected, or a passkey. Start with code, let an admin connect one in the console, and set it again'

const studentsShutOut =
  'students cannot sign in: CHIRON_STUDENT_SIGN_IN has no code, and no provider is open to students'

const foreignKeysLine =
  'some signing keys are sealed under another CHIRON_SECRET: if no other process uses that secret, remove them with "chiron keys revoke KEY"'

/** Throws if nobody could use the console, and warns of what somebody should mend. */
export async function checkStart(features: Features, config: Config, log: Log): Promise<void> {
  const { methods, passkeys, schoolAccounts, keys } = features
  if (config.staffPasskey === 'required' && !(await passkeys.adminHasOne()))
    throw new UsageError(noAdminWithPasskey)
  if (!(await anAdminCanSignIn(features))) throw new UsageError(lockout)
  if (!methods.student.includes('code') && !(await schoolAccounts.hasProvider('student')))
    log.warn(studentsShutOut)
  const foreignKeys = await keys.open()
  if (foreignKeys.length > 0) log.warn({ kids: foreignKeys }, foreignKeysLine)
}

/** Only admins can change staff. */
async function anAdminCanSignIn({ methods, passkeys, schoolAccounts }: Features): Promise<boolean> {
  const { staff } = methods
  if (staff.includes('code')) return true
  if (staff.includes('passkey') && (await passkeys.adminHasOne())) return true
  return staff.includes('school') && (await schoolAccounts.adminHasLink())
}
