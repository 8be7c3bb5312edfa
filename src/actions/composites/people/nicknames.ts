// First names that may be one person's, by group: English, German, French, Spanish, Italian and Russian usage. Data only.

const LINES = `
abigail abby gail|abraham abe|adrian ade|alan al allan allen|albert al bert bertie|alexander alex alec sasha sandy xander lex alejandro aleksandr alexandre
alexandra alex sasha sandra lexi aleksandra alejandra|alfred al alf fred freddie|amanda mandy|andrew andy drew andre andrei andrey andreas andres andrea
angela angie|anna ann anne annie anya anja|anthony tony anton antonio antoine|antonia toni|arthur art artie|barbara barb babs|bartholomew bart|benjamin ben benny benji
bernard bernie bernd bernhard|bradley brad|brian bryan|bridget biddy|calvin cal|cameron cam|catherine cathy kate katie kathy katherine kathryn catharine cat ekaterina katya katja katarina
charles charlie chuck chas carlos karl carl|charlotte charlie lottie|christian chris|christina chris tina christine kristina|christopher chris kit topher christophe kristofer
clifford cliff|clinton clint|cynthia cindy|daniel dan danny|danielle dani|david dave davey|deborah deb debbie debra|dennis denny denis|dmitry dmitri dima dimitri dmitriy
donald don donnie|dorothy dot dottie|douglas doug|edward ed eddie ted ned eduard eduardo edouard|eleanor ellie nora|elizabeth liz lizzie beth betty eliza lisa elisabeth elisa elsa libby
emily em emmy|emmanuel manny manuel|eric erik erich|ernest ernie ernst|eugene gene evgeny evgeniy yevgeny|evelyn evie|ferdinand ferdi|florence flo|frances fran|francis frank fran
francisco paco pancho frank|franklin frank|frederick fred freddie frederic friedrich fritz|gabriel gabe|gabriella gabby|geoffrey geoff jeff jeffrey|george georg georges jorge giorgio yuri
gerald gerry jerry|gerard gerry|giuseppe beppe peppe|gregory greg grigory|guillermo memo will william|gustav gus|harold harry hal|harrison harry|heinrich heiner heinz henry henri enrique enrico
henry hank harry hal|hubert bert|ignacio nacho|irene rene|isaac ike|isabella bella izzy isabel isabelle|ivan vanya|jacob jake jakob|jacqueline jackie|james jim jimmy jamie jaime
janet jan|jean john jon jonathan johnny jack johann johannes hans juan giovanni ivan jan|jennifer jen jenny|jeremy jerry|jessica jess jessie|joan joanie|joanna jo joanne johanna
joaquin quino|jonathan jon johnny nathan|joseph joe joey jose josef pepe yosef|joshua josh|judith judy|julia julie|julian jules|julius jules|karen kari|kenneth ken kenny|kimberly kim
konstantin kostya|kristen kris|lawrence larry lars laurence lorenzo laurent|leonard leo len lenny|leonardo leo|leopold leo|lewis lew louis lou luis ludwig|lillian lily|linda lindy|louise lou
lucas luke lukas luca|ludmila lyuda mila|luis lucho|madeline maddie|marcus mark marc marco markus marcos|margaret maggie meg peggy marge margie greta rita margarete|maria mary marie mia
marilyn mari|martin marty|matthew matt matthias mateo matthieu matteo mats|maximilian max|maxwell max|melissa mel|michael mike mick mickey mikhail michel miguel mischa misha micha
mikhail misha|mildred millie|mohammed mohammad muhammad mohamed mohamad mo|nadezhda nadia|natalia natasha nataliya natalie|nathan nate nathaniel|nicholas nick nicky nico nicolas nikolai nikolaus klaus niklas nikolay
nikita nik|norman norm|oliver ollie|olivia liv livvy|oscar oskar|pamela pam|patricia pat patty trish tricia|patrick pat paddy|paul paulo pablo pavel paolo|peter pete pedro pierre piotr petr pyotr pietro
philip phil phillip philipp philippe felipe|priscilla cilla|rachel rach|raymond ray|rebecca becky becca|regina gina|reginald reg reggie|richard rick rich dick ricky ricardo rik|robert rob bob bobby robbie bert roberto
rodney rod|roger rog|roland rollo|ronald ron ronnie|rosemary rose rosie|rudolf rudi rudy|russell russ|ruth ruthie|samantha sam sammy|samuel sam sammy|sarah sara sally|sebastian seb bastian basti
sergey sergei serge sergio|sidney sid|simon si|solomon sol|sophia sophie sofia sofie|stanley stan|stephanie steph steffi stefanie|stephen steve steven stefan stephan esteban etienne stepan
stewart stuart stu|susan sue suzie susanne susie suzanne|svetlana sveta|sylvia sylvie|tamara tammy|tatiana tanya tatyana tania|teresa terry tess theresa therese|terence terry|thaddeus tad thad
theodore ted theo teddy fyodor|thomas tom tommy tomas tommaso|timothy tim timmy|tobias toby|ulrich uli|valentina valya|valerie val|vanessa nessa|veronica ronnie vera|victor vic viktor|victoria vicky tori viktoria
vincent vince vinny vincenzo|virginia ginny|vladimir vlad volodya|vyacheslav slava|walter walt wally|wendy wen|wilhelm willi william|william will bill billy liam willy|winifred winnie|wolfgang wolf
yaroslav slava|yekaterina katya|yulia julia|yury yuri iurii yuriy|zachary zach zack
`;

export const NICKNAMES: ReadonlyMap<string, ReadonlySet<number>> = read();

function read(): ReadonlyMap<string, ReadonlySet<number>> {
  const lines = new Map<string, Set<number>>();
  for (const [at, line] of LINES.trim().split(/[|\n]/).entries()) {
    for (const name of line.split(" ")) lines.set(name, (lines.get(name) ?? new Set()).add(at));
  }
  return lines;
}
