import type { Text } from '../en/portal.ts'
import { accountText } from './account.ts'
import { signInText } from './sign-in.ts'
import { studentText } from './student.ts'

const ourFault = 'Algo ha fallado por nuestra parte. Inténtelo de nuevo.'

export const text: Text = {
  loading: 'Un momento…',
  late: 'Esta página necesita JavaScript, que tarda en cargarse.',
  skip: 'Ir al contenido',
  language: 'Idioma',

  nav: {
    label: 'Principal',
    home: (name) => `${name}, página de inicio`,
    profile: 'Perfil',
    classes: 'Clases',
    card: 'Carné',
    calendar: 'Calendario',
    about: 'Sobre mí',
    account: 'Mi cuenta',
    sessions: 'Dispositivos',
    data: 'Mis datos',
    signOut: 'Cerrar sesión',
  },

  footer: {
    about: (school) =>
      `Chiron es el servicio de acceso de la escuela veterinaria${school === null ? '' : ` (${school})`}.`,
    help: 'Ayuda',
    privacy: 'Privacidad',
    developers: 'Para desarrolladores:',
    reference: 'Referencia de la API',
    mailbox: 'Buzón',
    problems: 'Errores',
  },

  offline: 'No tiene conexión. Es posible que lo que ve no esté actualizado.',
  retry: 'Intentar de nuevo',
  retryIn: (time) => `Podrá continuar dentro de ${time}.`,
  cancel: 'Cancelar',
  copy: 'Copiar',
  copied: 'Copiado',
  instance: (id) => `Si pide ayuda, indique este número: ${id}`,
  stale: 'No se ha podido actualizar. Está viendo una versión anterior.',

  timesElsewhere: (day, time) =>
    `Todas las horas son las de la escuela. Hora actual en la escuela: ${time} (${day}).`,

  staleSince: (time) => `Datos de ${time}. No se han podido actualizar desde entonces.`,

  problems: {
    unreachable:
      'No se puede conectar con el servicio. Compruebe su conexión; no se ha perdido nada de lo que ha escrito.',
    unavailable: 'El servicio no está disponible en este momento. Inténtelo de nuevo en unos instantes.',
    'internal-error': ourFault,
    'too-many-requests': 'Demasiados intentos en poco tiempo.',
    timeout: 'Ha tardado demasiado. Inténtelo de nuevo.',
    'invalid-request': 'El formulario contiene algún error. Revíselo, por favor.',
    'malformed-json': ourFault,
    'unsupported-version': 'Esta página está desactualizada. Vuelva a cargarla.',
    unauthenticated: 'Vuelva a entrar, por favor.',
    'invalid-token': 'Vuelva a entrar, por favor.',
    'session-ended': 'Su sesión se ha cerrado. Vuelva a entrar, por favor.',
    'otp-incorrect': 'Ese no es el código correcto.',
    'otp-unusable': 'Este código ya no se puede usar. Pida uno nuevo.',
    forbidden: 'Su cuenta no tiene acceso a esto.',
    'recent-sign-in-required': 'Confirme primero su identidad con un código nuevo.',
    'passkey-unusable': 'Esta llave de acceso no se puede usar. Entre con un código.',
    'passkey-exists': 'Este dispositivo ya tiene una llave de acceso para su cuenta.',
    'not-found': 'Aquí no hay nada.',
    'method-not-allowed': ourFault,
    conflict: 'No es posible en este momento. Vuelva a cargar la página y compruébelo.',
    'roster-moved-on': 'La lista de estudiantes ha cambiado mientras tanto. Revísela de nuevo.',
    'body-too-large': 'Es demasiado largo.',
    'unsupported-media-type': ourFault,
    'headers-too-large': ourFault,
  },

  fields: {
    email: 'Correo electrónico',
    firstname: 'Nombre',
    lastname: 'Apellido',
    wrongEmail: 'Esto no parece una dirección de correo. Ejemplo: ada@example.org',
    wrongName: 'Indique un nombre de 1 a 100 caracteres, con al menos una letra y sin /, @ ni www.',
  },

  notFound: {
    title: 'Página no encontrada',
    lead: 'Es posible que el enlace sea antiguo o contenga un error.',
    home: 'Ir a la página de inicio',
  },

  broken: {
    title: 'Se ha producido un error',
    lead: 'Esta página ha tenido un problema. Suele bastar con volver a cargarla.',
    reload: 'Volver a cargar la página',
  },

  ...signInText,
  ...accountText,
  ...studentText,
}
