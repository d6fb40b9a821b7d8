import type { ConsoleText } from '../en/console.ts'
import { counted } from './console-counted.ts'
import { eventsText } from './console-events.ts'
import { peopleText } from './console-people.ts'
import { programsText } from './console-programs.ts'
import { rosterText } from './console-roster.ts'

export const text: ConsoleText = {
  name: 'Consola',

  nav: {
    home: (name) => `${name}, consola, resumen`,
    '': 'Resumen',
    people: 'Personas',
    mail: 'Correo',
    roster: 'Lista',
    events: 'Eventos',
    refusals: 'Cuentas rechazadas',
    providers: 'Cuentas de la escuela',
    webhooks: 'Webhooks',
    applications: 'Aplicaciones',
    staff: 'Personal',
  },

  toOverview: 'Ir al resumen',

  signIn: {
    title: 'Entrar en la consola',
    lead: 'Para el personal de la escuela. Le enviamos un código por correo.',
    portal: 'Los veterinarios y los estudiantes entran aquí',
    otherRole: 'La consola es para el personal',
    otherRoleLead: (name) =>
      `${name} tiene una sesión abierta en el portal en este navegador. Para usar la consola, ciérrela y entre como miembro del personal.`,
    change: 'Cerrar la sesión y entrar como personal',
    toPortal: 'Volver al portal',
  },

  rights: { support: 'Asistencia', registrar: 'Secretaría', admin: 'Administración' },

  rightsMean: {
    support: 'las personas, sus dispositivos y su correo',
    registrar: 'la lista de estudiantes',
    admin: 'todo, incluidos el personal, los eventos y los webhooks',
  },

  nothingAllowed: 'Sus permisos no incluyen esta página. Pídalos a un administrador.',
  more: 'Mostrar más',
  none: 'No hay resultados.',
  updated: (time) => `Actualizado: ${time}`,
  you: 'usted',
  unnamed: 'sin nombre',

  overview: {
    title: 'Resumen',
    verdicts: {
      well: 'Todo va bien',
      wrong: 'Hay un problema',
      'not-set-up': 'Todo va bien, pero no todo está configurado',
    },
    wrong: (headline: string) => `Problema: ${headline}`,
    states: { well: 'Bien', wrong: 'Problema', 'not-set-up': 'Sin configurar' },
    signIns: 'Accesos',
    lastHour: 'Última hora',
    lastDay: 'Últimas 24 horas',
    picture: (most) => `Accesos por hora en las últimas 24 horas; ${most} en la hora de más actividad`,
    hour: (from, count) => `${from}: ${count}`,
    noSignIns: 'Nadie ha entrado en las últimas 24 horas.',
    mail: 'Correo',
    unsent: 'Por enviar',
    oldest: 'El más antiguo espera desde',
    failed: 'Fallidos en 24 horas',
    mailGood: 'El correo se envía con normalidad.',
    mailWrong: { stuck: 'no sale ningún correo', failing: 'muchos correos no llegan' },
    mailReasons: {
      caught:
        'No hay ningún servidor de correo configurado: los correos se quedan en el buzón de desarrollo. Defina CHIRON_SMTP_URL para enviarlos.',
      stuck:
        'Desde hace varios minutos no sale ningún correo, así que nadie recibe códigos. Avise de inmediato al responsable del servidor de correo.',
      failing: 'Muchos correos no se han podido entregar. La lista muestra cuáles y por qué.',
      slow: 'El correo se retrasa. Si continúa, avise al responsable del servidor de correo.',
      'some-failed': 'Algunos correos no se han podido entregar. La lista muestra cuáles y por qué.',
    },
    toMail: 'Ver los correos fallidos',
    attack: 'Ataques',
    attackWrong: 'alguien intenta adivinar códigos',
    calm: 'Nadie está probando códigos.',
    attacked:
      'Alguien está probando códigos. Hasta que termine, los códigos nuevos tienen ocho cifras y algunas personas tendrán que pedir otro código. Nadie queda bloqueado y usted no tiene que hacer nada. Si dura horas, avise al responsable del servicio.',
    wrongCodes: 'Códigos erróneos en la última hora',
    wrongCodesDay: 'Códigos erróneos en el último día',
    ofThreshold: (count: string, threshold: string) => `${count} (umbral de ataque: ${threshold})`,
    toEvents: 'Ver los eventos',
    roster: 'Lista de estudiantes',
    since: 'Vigente desde',
    checked: 'Última comparación con un archivo',
    generation: 'Número',
    newestFile: 'Último archivo en el origen',
    nextFetch: 'Próxima descarga',
    rosterWrong: {
      'never-imported': 'ningún estudiante puede entrar',
      'no-students': 'ningún estudiante puede entrar',
      overdue: 'no llega ningún archivo más reciente',
      'fetch-stopped': 'el último archivo no se importó',
      'fetch-late': 'la lista no se ha descargado',
    },
    rosterReasons: {
      'never-imported': 'Aún no se ha importado ninguna lista: ningún estudiante puede entrar.',
      'no-students': 'La lista no contiene estudiantes: ningún estudiante puede entrar.',
      overdue:
        'Hace días que no llega un archivo más reciente. Compruebe que el sistema de la escuela aún lo exporta.',
      'fetch-stopped':
        'La última descarga quedó retenida, fue rechazada o falló. El informe enviado por correo indica qué hacer.',
      'fetch-late': 'La próxima descarga ya debería haberse hecho.',
    },
    rosterFine: 'Los estudiantes y las clases vienen de esta lista.',
    toRoster: 'Ir a la lista',
    webhooks: 'Webhooks',
    webhooksNone: 'No hay webhooks.',
    webhooksFine: 'Ningún webhook falla.',
    webhooksFail: (n, shown) =>
      counted(n, shown, 'webhook no recibe sus eventos.', 'webhooks no reciben sus eventos.'),
    toWebhooks: 'Ir a los webhooks',
    people: 'Personas',
    counted: (time) => `Recuento: ${time}`,
    nobody: 'Todavía no hay nadie.',
    checkAgain: (n, shown) =>
      `${counted(n, shown, 'veterinario verificado cambió', 'veterinarios verificados cambiaron')} después de nombre o de dirección. Hay que verificar de nuevo.`,
    toPeople: 'Buscar a alguien',
    service: 'Este servicio',
    version: 'Versión',
    store: 'Base de datos',
    schema: 'Esquema',
  },

  roles: { veterinarian: 'Veterinario', student: 'Estudiante', staff: 'Personal' },
  rolesMany: { veterinarian: 'Veterinarios', student: 'Estudiantes' },

  statuses: {
    pending: 'aún no ha entrado',
    active: 'activo',
    inactive: 'inactivo en la lista',
    suspended: 'suspendido',
    closed: 'cerrado',
  },

  statusesMany: {
    pending: 'aún no han entrado',
    active: 'activos',
    inactive: 'inactivos en la lista',
    suspended: 'suspendidos',
    closed: 'cerrados',
  },

  ...peopleText,
  ...eventsText,
  ...programsText,
  ...rosterText,
}
