package reproduce
import ("testing";"context";"fmt";"time";"dpnbench/dataset";"dpnbench/engine")
func TestX(t *testing.T){ e,_:=engine.New(); d,err:=dataset.Open("/work/shared/data/mnist",dataset.Options{}); if err!=nil{t.Fatal(err)}
 st:=time.Now()
 r,err:=RunTable1(context.Background(),e,d,Table1Options{Seeds:3,Trained:-1,Whole:-1}); if err!=nil{t.Fatal(err)}
 for _,p:=range r.Few{ l:=p.Analysis.Layers; fmt.Printf("%d in %.3f %.3f %.3f | D %.3f dist %.2f ratio %.3f disp %.1f ev %.3f %.3f\n",p.Seed,l[0].Fuzziness,l[0].MeanDistance,l[0].BetweenWithinRatio,l[2].Fuzziness,l[2].MeanDistance,l[2].BetweenWithinRatio,p.Analysis.DisplacementL2,l[2].ExplainedVariance[0],l[2].ExplainedVariance[1])}
 fmt.Println(time.Since(st))
}
