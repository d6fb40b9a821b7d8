import { operationFor } from '../../platform/http/operation.ts'
import type { LiveSession } from './session.ts'

/** Declares a call whose caller is a person. */
export const operation = operationFor<LiveSession>()
