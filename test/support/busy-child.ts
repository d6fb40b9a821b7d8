/** A child process like that of a roster's job, whose thread never rests. */
import { endWithParent } from '../../src/school/roster/upload/orphan.ts'

endWithParent()
process.send!('busy')
for (;;);
