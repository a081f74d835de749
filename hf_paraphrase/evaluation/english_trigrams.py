"""How frequent the character trigrams of English words are.

Relative frequencies for the weights of :mod:`.baselines`. They were counted on the words (runs of the
letters a to z, lower-cased, one space before and after each) of 2,000 English Wikipedia sentences, 187,536 trigrams;
the 744 with a frequency of at least 0.0003 are kept. A rarer one has next to no influence on a weight
a / (a + p) at a = 0.003.
"""

from __future__ import annotations

_PER_100_000 = """
_th1981 the1827 he_1646 ed_929 _of816 _in809 of_764 _an753 nd_703 and697 er_671 in_659 on_632 es_559 is_516
ing516 ng_505 _to496 _a_489 _co489 ion482 as_459 to_447 an_416 rb_394 _is379 al_361 ent358 tio354 re_351 ter336
_re324 or_321 ly_314 _fo310 ate303 st_301 _be301 _wa289 th_285 _ma280 for277 _st270 ati264 en_253 _pr252 ts_248
at_247 ted239 nt_229 _wi226 her224 all224 _de222 _on221 _as220 le_214 ver213 _ca211 _ar208 _se207 was202 ce_200
_lr197 lrb197 _rr196 rrb196 con195 _ha193 _di189 _it189 ere188 sta188 ist187 _he184 _fr183 ne_183 ith180 est180
_al179 ica179 me_178 _wh174 _mo173 ry_173 by_172 _so172 rs_171 nce171 ers170 _or169 ns_169 _no169 wit169 ch_168
_by166 ame164 com162 are162 ons162 his159 it_158 ive157 _hi156 _la156 ic_155 _pa151 pro151 tha149 tra148 res147
rom147 te_147 str146 _fi146 _ch144 ty_144 ll_143 _we142 ve_141 oun140 ric140 men139 ain138 om_137 ear137 _su136
man134 _si133 red133 ar_132 hat132 eve132 _po131 se_130 ove128 _me127 _s_127 _ba126 art126 ber126 ste125 _un124
fro124 eri123 cal123 ine123 lan123 _at122 _li120 tor120 ort119 nal118 int118 rea116 ant115 can115 iti114 tin114
_tr113 us_113 _wo113 ect113 ge_111 _sh111 der110 ies110 ern109 tri108 ess107 ide107 _bo107 dis106 und105 inc103
_ne102 per102 rat102 _le101 nti101 tur101 _mi100 out100 _na99 _ho98 _te98 de_98 nde98 _pe97 lat97 nte97 ome97
_en97 ast97 lar97 ay_96 par96 ity95 ral95 tat95 ut_95 eas94 eat94 min94 one94 ran94 les93 _lo93 age93 sed92
thi92 tic92 _gr91 _ro91 pla91 use91 lin90 uni90 cha90 ds_90 ian90 whi90 cti89 _sa89 orm89 pre89 anc88 ld_88
_sp87 enc87 ich87 ore87 oth87 _ex87 een87 ite86 lly86 ia_86 ish86 rn_86 _pl85 ss_85 mer85 end84 ill84 nat84
sin84 ssi84 era83 rin83 rt_83 ten83 unt83 _ge83 ser83 own82 ren82 _bu82 als82 ina82 sto82 wor82 _fa81 mbe81
igh80 tes80 ard79 ele79 _mu79 sti79 ona78 wer78 _sc78 _us77 ont77 rd_77 ey_76 ure76 _ac75 be_75 rou75 _br74
act74 din74 its74 lle74 son74 ces73 ls_73 rie73 cou73 ple73 hic72 ous72 ali71 omp71 tan71 ial71 ost71 wn_71
erm70 ger70 ins70 _ea70 _ra70 ad_70 des70 mar70 ned70 ani69 ck_69 lis69 not69 ow_69 ntr69 she69 tiv69 tro69
_da68 ang68 ell68 hen68 rth68 den68 med68 rit68 sio68 ave67 che67 ght67 por67 ny_67 tho67 ari66 ass66 ind66
nit66 cat66 tal66 _cr65 ble65 ded65 mat65 fte65 has65 our65 ree65 so_65 ven65 rec64 war64 _do63 ire63 pri63
ase62 han62 ms_62 nts62 ord62 _ce62 ary62 cen62 vel62 _ap61 _fe61 emb61 fir61 ugh61 et_61 sh_61 _ga60 chi60
ong60 ot_60 ime60 ope60 rst60 ct_59 ori59 pos59 spe59 _ad59 _ta59 _ti59 lit59 nor59 low58 rge58 but58 gh_58
ner58 ust58 ack57 _go57 _ri57 fic56 har56 il_56 ini56 rch56 ice55 nin55 ris55 tte55 mon55 nta55 oug55 rma55
_ot54 hou54 lea54 nic54 _au54 _vi54 eco54 el_54 irs54 nam54 ndi54 ula54 _pu53 abl53 att53 _ci53 fer53 led53
lon53 lso53 oll53 rel53 _af52 _hu52 ans52 app52 duc52 kin52 nes52 uth52 _am52 ade52 cia52 ita52 mil52 mos52
omm52 _ab51 _cl51 any51 ene51 ert51 mes51 now51 ace51 bli51 eme51 hed51 lic51 ria51 rop51 tem51 gra50 hes50
hin50 gen50 ht_50 ign50 ile50 ir_50 nge50 ose50 shi50 sid49 tar49 tim49 usi49 _du49 gre49 ict49 oli49 col48
rri48 sit48 tai48 aft47 nis47 nto47 sou47 ved47 whe47 erv47 nsi47 nst47 urr47 arl46 esi46 hav46 mai46 pec46
sho46 ath45 cho45 ese45 gin45 mpl45 rac45 um_45 ens45 met45 rti45 tre45 win45 _ve44 ara44 ely44 llo44 rme44
sea44 som44 eng44 hil44 ivi44 lay44 _ju43 am_43 arg43 car43 cor43 cre43 dia43 gan43 ory43 ual43 _el43 bec43
cit43 ee_43 hea43 rm_43 ult43 ane42 ici42 olo42 owe42 uri42 _cu42 ars42 ges42 lli42 mal42 pen42 atu41 clu41
ngl41 sch41 ses41 sse41 thr41 ute41 wes41 _ag41 _ye41 ima41 ize41 oss41 que41 ue_41 _tw40 ew_40 how40 lia40
od_40 rre40 sco40 ale39 aus39 bor39 cul39 elo39 hei39 mus39 nds39 pea39 rai39 sig39 abo39 alt39 edi39 ron39
sen39 two39 _fl38 ake38 bee38 cte38 eci38 fou38 ien38 ond38 ra_38 tle38 uch38 arm38 ea_38 ead38 ext38 ffe38
had38 rk_38 sic38 _im37 _ki37 cto37 dit37 eli37 ke_37 kno37 ol_37 ork37 orn37 ppe37 reg37 rig37 tly37 uct37
_kn37 ean37 hey37 id_37 ora37 rep37 _sy36 ann36 egi36 gro36 isc36 mor36 mpo36 nda36 ovi36 riv36 rod36 ur_36
ves36 vin36 yea36 _es36 arc36 arr36 bas36 bet36 cam36 cie36 hur36 imp36 _bi35 ban35 bou35 bri35 eca35 nci35
ors35 pic35 ton35 _dr35 _op35 _va35 ail35 ete35 hor35 isi35 lac35 lec35 ncl35 off35 rem35 rov35 sur35 tel35
iss34 loc34 nly34 old34 orl34 ref34 til34 wo_34 ach34 pol34 rio34 ubl34 _ev33 ece33 eir33 lud33 may33 ock33
odu33 tia33 _bl33 adi33 ced33 ela33 ifi33 las33 ler33 omi33 rld33 rly33 ros33 tab33 tie33 uar33 vis33 _ja32
amp32 hip32 rad32 ret32 rna32 cur31 err31 evi31 lor31 na_31 oca31 ode31 org31 pe_31 pub31 wee31 _ou31 cts31
efe31 igi31 len31 sev31 suc31 vid31 _ov30 _ph30 eth30 ili30 pan30 sis30
"""


def english_trigram_frequencies() -> dict[str, float]:
    """Returns the relative frequency of each frequent trigram; a space stands for a word's beginning or end."""
    return {entry[:3].replace("_", " "): int(entry[3:]) / 100_000 for entry in _PER_100_000.split()}
